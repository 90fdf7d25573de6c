use tool_core::toolset;

struct Weather;

#[toolset(auth = "api_key")]
impl Weather {
    /// Get the weather.
    #[tool]
    fn get(&self) {}
}

fn main() {}
