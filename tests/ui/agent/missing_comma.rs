use tool_core::agent;

#[agent("researcher" crate = tool_core)]
fn research() {}

fn main() {}
