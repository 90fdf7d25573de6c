use tool_core::tool;

/// Get the weather.
#[tool(confirm timeout = "5s")]
fn weather() {}

fn main() {}
