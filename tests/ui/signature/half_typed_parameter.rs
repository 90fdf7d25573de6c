use tool_core::toolset;

struct Weather;

#[toolset]
impl Weather {
    /// Get the weather.
    #[tool]
    fn get(&self, city: ) {}

    /// Get the forecast.
    #[tool]
    fn forecast(&self) {}
}

fn main() {
    Weather.forecast();
}
