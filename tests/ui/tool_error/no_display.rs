use tool_core::{ToolError, tool};

#[derive(ToolError)]
enum Failure {
    #[tool_error(kind = "rate_limit")]
    TooMany,
}

/// Get the forecast.
#[tool]
fn forecast() -> Result<String, Failure> {
    Err(Failure::TooMany)
}

fn main() {}
