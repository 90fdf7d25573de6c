use tool_core::prompt;

struct City {
    name: String,
}

/// Plan a trip.
#[prompt]
fn trip(city: City) -> String {
    city.name
}

fn main() {}
