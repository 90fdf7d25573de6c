use tool_core::tool;

/// Get the weather.
#[tool(timeout = "5 hours")]
fn weather() {}

fn main() {}
