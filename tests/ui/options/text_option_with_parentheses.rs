use tool_core::tool;

/// Get the weather.
#[tool(name("x"))]
fn weather() {}

fn main() {}
