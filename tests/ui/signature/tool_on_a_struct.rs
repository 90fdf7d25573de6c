use tool_core::tool;

/// The weather.
#[tool]
struct Weather {
    city: String,
}

fn main() {}
