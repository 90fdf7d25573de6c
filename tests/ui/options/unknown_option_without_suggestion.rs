use tool_core::prompt;

/// Ask about the weather.
#[prompt(blue)]
fn weather() -> String {
    String::new()
}

fn main() {}
