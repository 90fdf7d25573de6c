use tool_core::toolset;

struct Weather;

#[toolset]
impl Weather {
    /// Get the weather.
    #[tool]
    fn get(#[context] &self) {}
}

fn main() {}
