use tool_core::tool;

/// Get the weather.
#[tool(guide = "guides/nowhere.md")]
fn weather() {}

fn main() {}
