use tool_core::prompt;

/// Plan a trip.
#[prompt]
fn trip(#[arg(complete = ["Berlin", "Bern"])] city: &str) -> String {
    city.to_owned()
}

fn main() {}
