use tool_core::tool;

/// Get the weather.
#[tool(category = "actoin")]
fn weather() {}

fn main() {}
