use tool_core::toolset;

struct Weather;

#[toolset]
impl Weather {
    #[setup(timeout = "5s")]
    fn open(&self) {}

    /// Get the weather.
    #[tool]
    fn get(&self) {}
}

fn main() {}
