use tool_core::tool;

/// Get the weather.
#[tool(max_output = -1)]
fn weather() {}

fn main() {}
