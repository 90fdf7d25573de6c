use tool_core::{ToolContext, tool};

/// Add two numbers.
#[tool(timeout = "5")]
fn add(a: i64, #[arg(default)] b: i64) -> i64 {
    a + b
}

fn main() {
    let _ = add(1, 2);
    let _ = ToolContext::builder().with(add).build();
}
