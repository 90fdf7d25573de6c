use tool_core::toolset;

struct Weather;

#[toolset]
impl Weather {
    #[setup]
    fn open<T>(&self) {}

    /// Get the weather.
    #[tool]
    fn get(&self) {}
}

fn main() {}
