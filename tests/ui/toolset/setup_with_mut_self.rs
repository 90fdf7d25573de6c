use tool_core::toolset;

struct Weather;

#[toolset]
impl Weather {
    #[setup]
    fn open(&mut self) {}

    /// Get the weather.
    #[tool]
    fn get(&self) {}
}

fn main() {}
