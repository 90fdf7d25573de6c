use tool_core::tool;

/// Get the weather.
#[tool(timeout = "5s")]
fn weather() {}

/// Get the forecast.
#[tool(timeout = "5s", blocking)]
fn forecast() {}

fn main() {}
