use tool_core::prompt;

/// Count the cities.
#[prompt]
fn count() -> u32 {
    7
}

fn main() {}
