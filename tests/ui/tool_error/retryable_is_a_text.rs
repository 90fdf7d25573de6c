use std::fmt;
use tool_core::ToolError;

#[derive(ToolError)]
#[tool_error(retryable = "yes")]
struct Failure;

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("failed")
    }
}

fn main() {}
