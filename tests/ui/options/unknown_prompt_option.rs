use tool_core::prompt;

/// Ask about the weather.
#[prompt(nam = "x")]
fn weather() -> String {
    String::new()
}

fn main() {}
