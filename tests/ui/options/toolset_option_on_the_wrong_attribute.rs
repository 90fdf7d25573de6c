use tool_core::toolset;

struct Weather;

#[toolset(category = "action")]
impl Weather {
    /// Get the weather.
    #[tool]
    fn get(&self) {}
}

fn main() {}
