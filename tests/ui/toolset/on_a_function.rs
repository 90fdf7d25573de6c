use tool_core::toolset;

/// The weather.
#[toolset]
fn weather() {}

fn main() {}
