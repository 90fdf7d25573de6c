use tool_core::toolset;

struct Weather;

#[toolset(prefix = "weather_of_the_german_weather_service")]
impl Weather {
    /// Get the weather.
    #[tool]
    fn get_the_current_weather_of_a_city(&self) {}
}

fn main() {}
