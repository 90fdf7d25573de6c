use tool_core::agent;

#[agent("researcher", timeout = "5s")]
fn research() {}

fn main() {}
