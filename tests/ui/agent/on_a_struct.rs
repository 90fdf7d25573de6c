use tool_core::agent;

#[agent("researcher")]
struct Researcher;

fn main() {}
