use tool_core::tool;

/// Get the weather.
#[tool(args = WeatherArgs)]
fn weather(city: String) -> String {
    city
}

struct WeatherArgs;

fn main() {}
