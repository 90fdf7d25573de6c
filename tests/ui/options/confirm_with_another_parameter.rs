use tool_core::tool;

/// Get the weather.
#[tool(confirm = is_far)]
fn weather(city: String) -> String {
    city
}

fn is_far(city: &str) -> bool {
    city.len() > 9
}

fn main() {}
