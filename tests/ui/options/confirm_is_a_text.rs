use tool_core::tool;

/// Get the weather.
#[tool(confirm = "always")]
fn weather() {}

fn main() {}
