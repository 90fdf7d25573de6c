use tool_core::toolset;

struct Weather;

#[toolset(prefix = 5)]
impl Weather {
    /// Get the weather.
    #[tool]
    fn get(&self) {}
}

fn main() {}
