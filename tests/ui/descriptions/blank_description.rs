use tool_core::tool;

#[tool(description = " ")]
fn forecast() {}

fn main() {}
