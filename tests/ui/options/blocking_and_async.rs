use tool_core::tool;

/// Get the weather.
#[tool(blocking)]
async fn weather() {}

fn main() {}
