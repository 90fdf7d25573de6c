use tool_core::toolset;

trait Forecast {
    fn get(&self);
}

struct Weather;

#[toolset]
impl Forecast for Weather {
    /// Get the weather.
    #[tool]
    fn get(&self) {}
}

fn main() {}
