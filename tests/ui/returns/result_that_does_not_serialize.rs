use tool_core::{ToolError, tool};

struct Forecast {
    rain: bool,
}

/// Get the forecast.
#[tool]
async fn forecast() -> Result<Forecast, ToolError> {
    Ok(Forecast { rain: true })
}

fn main() {}
