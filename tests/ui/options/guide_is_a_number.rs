use tool_core::tool;

/// Get the weather.
#[tool(guide = 5)]
fn weather() {}

fn main() {}
