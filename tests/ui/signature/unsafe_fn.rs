use tool_core::tool;

/// Answer.
#[tool]
unsafe fn answer() -> u32 {
    42
}

fn main() {}
