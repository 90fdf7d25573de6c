use tool_core::tool;

/// Get the weather.
#[tool(description = 5)]
fn weather() {}

fn main() {}
