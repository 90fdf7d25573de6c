use tool_core::tool;

/// Get the weather.
#[tool(max_calls = 0)]
fn weather() {}

fn main() {}
