use tool_core::tool;

/// Get the weather.
#[tool(on_duplicate = "refuse")]
fn weather() {}

fn main() {}
