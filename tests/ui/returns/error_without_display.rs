use tool_core::tool;

struct Failure;

/// Get the forecast.
#[tool]
fn forecast() -> Result<String, Failure> {
    Err(Failure)
}

fn main() {}
