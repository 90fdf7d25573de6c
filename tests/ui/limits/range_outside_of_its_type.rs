use tool_core::tool;

/// Get the weather.
#[tool]
fn weather(#[arg(range(0..=300))] minutes: u8) {}

fn main() {}
