use tool_core::toolset;

struct Weather;

#[toolset(crate = "tool_core")]
impl Weather {
    /// Get the weather.
    #[tool]
    fn get(&self) {}
}

fn main() {}
