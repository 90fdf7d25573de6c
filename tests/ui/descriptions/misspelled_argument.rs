use tool_core::tool;

/// Get the forecast.
///
/// # Arguments
///
/// * `ctiy` - Where
#[tool]
fn forecast(city: String) -> String {
    city
}

fn main() {}
