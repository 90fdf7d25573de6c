use tool_core::tool;

/// Get the weather.
#[tool(annotations(read_only_hint = true), output_schema = x, strict)]
fn weather() {}

fn main() {}
