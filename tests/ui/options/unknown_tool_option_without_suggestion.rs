use tool_core::tool;

/// Get the weather.
#[tool(blue)]
fn weather() {}

fn main() {}
