use tool_core::tool;

/// Get the weather.
#[tool(name = "x", title = "X", name = "y")]
fn weather() {}

fn main() {}
