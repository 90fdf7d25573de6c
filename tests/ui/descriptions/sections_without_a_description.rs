use tool_core::tool;

/// # Arguments
///
/// * `city` - Where
#[tool]
fn forecast(city: String) -> String {
    city
}

fn main() {}
