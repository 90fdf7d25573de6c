use tool_core::{schemars::JsonSchema, serde::Deserialize, tool};

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "tool_core::serde")]
#[schemars(crate = "tool_core::schemars")]
struct Point {
    x: f64,
    y: f64,
}

/// Draw a point.
#[tool]
fn draw(Point { x, y }: Point) -> f64 {
    x + y
}

fn main() {}
