use tool_core::{prompt, tool_type};

#[tool_type]
struct Page {
    number: u32,
}

/// Plan a trip.
#[prompt]
fn trip(#[arg(flatten)] page: Page) -> String {
    page.number.to_string()
}

fn main() {}
