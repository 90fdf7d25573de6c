use tool_core::toolset;

struct Weather;

#[toolset]
impl Weather {
    /// Get the weather.
    #[tool = "get_weather"]
    fn get(&self) {}
}

fn main() {}
