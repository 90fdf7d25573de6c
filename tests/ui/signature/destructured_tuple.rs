use tool_core::tool;

/// Draw a point.
#[tool]
fn draw((x, y): (f64, f64)) -> f64 {
    x + y
}

fn main() {}
