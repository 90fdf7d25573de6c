use tool_core::agent;

#[agent(researcher)]
fn research() {}

fn main() {}
