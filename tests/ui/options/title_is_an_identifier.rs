use tool_core::tool;

/// Get the weather.
#[tool(title = Weather)]
fn weather() {}

fn main() {}
