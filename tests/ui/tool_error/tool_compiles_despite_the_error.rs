use std::fmt;
use tool_core::{ToolError, tool};

#[derive(ToolError)]
enum Failure {
    #[tool_error(knd = "rate_limit")]
    TooMany,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("too many calls")
    }
}

/// Get the forecast.
#[tool]
fn forecast() -> Result<String, Failure> {
    Err(Failure::TooMany)
}

fn main() {}
