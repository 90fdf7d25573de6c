use tool_core::tool;

/// Answer.
#[tool]
const fn answer() -> u32 {
    42
}

fn main() {}
