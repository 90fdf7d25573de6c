use tool_core::toolset;

struct Weather;

#[toolset(parts = admin)]
impl Weather {
    /// Get the weather.
    #[tool]
    fn get(&self) {}
}

fn main() {}
