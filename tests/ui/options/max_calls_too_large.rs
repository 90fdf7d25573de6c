use tool_core::tool;

/// Get the weather.
#[tool(max_calls = 5_000_000_000)]
fn weather() {}

fn main() {}
