use tool_core::agent;

#[agent(7)]
fn research() -> u8 {
    1
}

fn main() {
    // No second error: the function is there.
    let _: u8 = research();
}
