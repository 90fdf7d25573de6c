use tool_core::toolset;

struct Weather;

#[toolset(name = "9weather")]
impl Weather {
    /// Get the weather.
    #[tool]
    fn get(&self) {}
}

fn main() {}
