use tool_core::tool;

/// Get the weather.
#[tool(confirm = is_far, args = WeatherArgs)]
fn weather(city: String) -> String {
    city
}

async fn is_far(args: &WeatherArgs) -> bool {
    args.city.len() > 9
}

fn main() {}
