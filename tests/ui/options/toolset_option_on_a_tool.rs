use tool_core::tool;

/// Get the weather.
#[tool(prefix = "weather")]
fn weather() {}

fn main() {}
