use tool_core::tool;

/// Answer.
#[tool]
extern "C" fn answer() -> u32 {
    42
}

fn main() {}
