use std::fmt;
use tool_core::ToolError;

#[derive(ToolError)]
enum Failure {
    #[tool_error(kind = "rate_limit")]
    #[tool_error(kind = "transient")]
    TooMany,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("failed")
    }
}

fn main() {}
