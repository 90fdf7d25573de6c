use tool_core::agent;

#[agent("researcher")]
#[agent("planner")]
fn research() {}

fn main() {}
