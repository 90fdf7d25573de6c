use tool_core::tool;

/// Pay a bill.
#[tool(category = "action", retries = 2)]
fn pay() {}

fn main() {}
