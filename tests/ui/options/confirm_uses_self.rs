use tool_core::tool;

/// Get the weather.
#[tool(confirm = self.asks)]
fn weather() {}

fn main() {}
