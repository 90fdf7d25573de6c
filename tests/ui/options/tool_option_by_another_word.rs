use tool_core::tool;

/// Get the weather.
#[tool(confirmation, readOnlyHint = true, max_retries = 3)]
fn weather() {}

fn main() {}
