use tool_core::toolset;

struct Forecast {
    rain: bool,
}

struct Weather;

#[toolset]
impl Weather {
    /// Get the forecast.
    #[tool]
    fn forecast(&self) -> Vec<Forecast> {
        vec![Forecast { rain: true }]
    }
}

fn main() {}
