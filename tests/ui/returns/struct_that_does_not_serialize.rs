use tool_core::tool;

struct Forecast {
    rain: bool,
}

/// Get the forecast.
#[tool]
fn forecast() -> Forecast {
    Forecast { rain: true }
}

fn main() {}
