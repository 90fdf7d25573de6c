use tool_core::agent;

#[agent(7)]
fn research() {}

fn main() {}
