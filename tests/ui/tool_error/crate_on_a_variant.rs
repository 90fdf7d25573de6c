use std::fmt;
use tool_core::ToolError;

#[derive(ToolError)]
enum Failure {
    #[tool_error(crate = tool_core)]
    TooMany,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("failed")
    }
}

fn main() {}
