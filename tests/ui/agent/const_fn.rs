use tool_core::agent;

#[agent("researcher")]
const fn research() -> u8 {
    1
}

fn main() {}
