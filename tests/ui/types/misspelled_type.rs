use tool_core::tool;

/// Get the weather.
#[tool]
fn weather(city: Sting) {}

fn main() {}
