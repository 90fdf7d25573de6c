use tool_core::toolset;

struct Weather;

#[toolset(prefix = "weather.")]
impl Weather {
    /// Get the weather.
    #[tool]
    fn get(&self) {}
}

fn main() {}
