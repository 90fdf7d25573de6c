use tool_core::toolset;

struct Weather;

#[toolset]
impl Weather {
    /// Get the weather.
    #[tool(idempotent)]
    #[tool(title = "Weather")]
    fn get(&self) {}
}

fn main() {}
