use tool_core::prompt;

#[prompt]
fn trip() -> &'static str {
    "Plan a trip."
}

fn main() {}
