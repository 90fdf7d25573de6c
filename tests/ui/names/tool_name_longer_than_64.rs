use tool_core::tool;

/// Get the weather.
#[tool(name = "get_the_weather_of_a_city_that_is_named_in_the_language_of_its_inhabitants")]
fn weather() {}

fn main() {}
