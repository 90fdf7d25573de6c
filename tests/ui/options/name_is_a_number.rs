use tool_core::tool;

/// Get the weather.
#[tool(name = 5)]
fn weather() {}

fn main() {}
