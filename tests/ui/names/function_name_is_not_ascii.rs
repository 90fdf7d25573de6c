use tool_core::tool;

/// Get the weather.
#[tool]
fn größe() {}

fn main() {}
