use tool_core::prompt;

struct Travel;

impl Travel {
    /// Plan a trip.
    #[prompt]
    fn trip(&self) -> &'static str {
        "Plan a trip."
    }
}

fn main() {}
