use tool_core::tool;

/// Get the weather.
#[tool(timeout = 5)]
fn weather() {}

fn main() {}
