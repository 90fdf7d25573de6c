use tool_core::tool;

/// Get the weather.
#[tool(modes(voice))]
fn weather() {}

fn main() {}
