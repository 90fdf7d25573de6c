use tool_core::tool;

/// Get the weather.
#[tool(nam = "x")]
fn weather() {}

fn main() {}
