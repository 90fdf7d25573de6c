use tool_core::tool;

/// Get the weather.
#[tool(category = action)]
fn weather() {}

fn main() {}
