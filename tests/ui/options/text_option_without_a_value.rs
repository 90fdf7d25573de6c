use tool_core::tool;

/// Get the weather.
#[tool(name)]
fn weather() {}

fn main() {}
