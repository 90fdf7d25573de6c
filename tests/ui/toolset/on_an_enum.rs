use tool_core::toolset;

/// The weather.
#[toolset]
enum Weather {
    Sunny,
}

fn main() {}
