use tool_core::agent;

#[agent(name = "researcher")]
fn research() {}

fn main() {}
