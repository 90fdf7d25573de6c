use tool_core::tool;

/// Get the forecast.
///
/// # Arguments
///
/// * `city` - Where
/// * `days` - How far
#[tool]
fn forecast(city: String) -> String {
    city
}

fn main() {}
