use std::fmt;
use tool_core::ToolError;

#[derive(ToolError)]
enum Failure {
    TooMany(#[tool_error(retryable)] u32),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("failed")
    }
}

fn main() {}
