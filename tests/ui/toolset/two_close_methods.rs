use tool_core::toolset;

struct Weather;

#[toolset]
impl Weather {
    /// Get the weather.
    #[tool]
    fn get(&self) {}

    #[close]
    fn close(&self) {}

    #[close]
    fn release(&self) {}
}

fn main() {}
