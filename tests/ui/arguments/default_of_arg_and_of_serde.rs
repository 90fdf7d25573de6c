use tool_core::tool;

/// Get the weather.
#[tool]
fn weather(#[arg(default = 1)] #[serde(default)] days: u32) {}

fn main() {}
