use tool_core::toolset;

struct Weather;

#[toolset]
impl Weather {
    /// Get the weather.
    #[tool(crate = tool_core)]
    fn get(&self) {}
}

fn main() {}
