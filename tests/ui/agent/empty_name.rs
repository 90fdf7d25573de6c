use tool_core::agent;

#[agent("")]
fn research() {}

fn main() {}
