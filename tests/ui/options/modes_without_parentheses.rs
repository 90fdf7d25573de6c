use tool_core::tool;

/// Get the weather.
#[tool(modes)]
fn weather() {}

fn main() {}
