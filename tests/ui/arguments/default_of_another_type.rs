use tool_core::{Timestamp, tool};

fn now() -> String {
    "now".to_owned()
}

/// Get the weather.
#[tool]
fn weather(#[arg(default = now())] at: Timestamp) -> String {
    at.to_string()
}

fn main() {}
