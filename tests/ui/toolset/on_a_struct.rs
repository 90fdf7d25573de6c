use tool_core::toolset;

/// The weather.
#[toolset]
struct Weather {
    city: String,
}

fn main() {}
