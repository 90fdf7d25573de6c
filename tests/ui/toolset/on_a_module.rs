use tool_core::toolset;

/// The weather.
#[toolset]
mod weather {}

fn main() {}
