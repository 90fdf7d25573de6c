use tool_core::tool;

/// Get the forecast.
#[tool]
fn forecast() -> impl Fn() -> u32 {
    || 5
}

fn main() {}
