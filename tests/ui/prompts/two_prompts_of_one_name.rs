use tool_core::toolset;

struct Travel;

#[toolset(discover = false)]
impl Travel {
    /// Plan a trip.
    #[prompt]
    fn trip(&self) -> &'static str {
        "Plan a trip."
    }

    /// Plan another trip.
    #[prompt(name = "trip")]
    fn other_trip(&self) -> &'static str {
        "Plan another trip."
    }
}

fn main() {}
