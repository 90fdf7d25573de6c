use tool_core::tool;

/// Get the weather.
#[tool(modes("voice", "video"))]
fn weather() {}

fn main() {}
