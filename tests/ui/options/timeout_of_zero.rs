use tool_core::tool;

/// Get the weather.
#[tool(timeout = "0s")]
fn weather() {}

fn main() {}
