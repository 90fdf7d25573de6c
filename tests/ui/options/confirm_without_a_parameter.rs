use tool_core::tool;

/// Get the weather.
#[tool(confirm = always)]
fn weather(city: &str) -> String {
    city.to_owned()
}

fn always() -> bool {
    true
}

fn main() {}
