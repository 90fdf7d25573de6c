use tool_core::prompt;

/// Plan a trip.
#[prompt(confirm)]
fn trip() -> &'static str {
    "Plan a trip."
}

fn main() {}
