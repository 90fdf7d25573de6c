use tool_core::tool;

/// Get the weather.
#[tool(name = "get weather")]
fn weather() {}

fn main() {}
