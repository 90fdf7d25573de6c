use tool_core::tool;

/// Get the weather.
#[tool(category = "retrieval", destructive)]
fn weather() {}

fn main() {}
