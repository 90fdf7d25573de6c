use tool_core::prompt;

/// Plan a trip.
#[prompt]
fn trip(cities: Vec<String>) -> String {
    cities.join(", ")
}

fn main() {}
