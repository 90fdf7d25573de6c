use tool_core::tool;

struct Weather;

impl Weather {
    /// Make it.
    #[tool]
    fn make() -> Self {
        Self
    }
}

fn main() {}
