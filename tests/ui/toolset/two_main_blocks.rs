use tool_core::toolset;

struct Weather;

#[toolset]
impl Weather {
    /// Get the weather.
    #[tool]
    fn get(&self) {}
}

#[toolset]
impl Weather {
    /// Get the forecast.
    #[tool]
    fn forecast(&self) {}
}

fn main() {}
