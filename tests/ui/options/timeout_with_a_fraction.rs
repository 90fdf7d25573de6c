use tool_core::tool;

/// Get the weather.
#[tool(timeout = "1.5s")]
fn weather() {}

fn main() {}
