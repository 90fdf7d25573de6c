use tool_core::tool;

/// Get the weather.
#[tool(idempotent = true)]
fn weather() {}

fn main() {}
