use tool_core::tool;

/// Get the weather.
#[tool(duplicate_scope = "names")]
fn weather() {}

fn main() {}
