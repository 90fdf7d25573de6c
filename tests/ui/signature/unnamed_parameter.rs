use tool_core::tool;

/// Draw a point.
#[tool]
fn draw(_: f64) {}

fn main() {}
