use tool_core::toolset;

struct Travel;

#[toolset(discover = false)]
impl Travel {
    /// Plan a trip.
    #[tool]
    #[prompt]
    fn trip(&self) -> String {
        "Plan a trip.".to_owned()
    }
}

fn main() {}
