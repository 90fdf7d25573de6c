use tool_core::tool;

struct Weather;

impl Weather {
    /// Get the weather.
    #[tool]
    fn get(&self) {}
}

fn main() {}
