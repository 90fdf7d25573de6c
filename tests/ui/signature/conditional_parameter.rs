use tool_core::tool;

/// Get the weather.
#[tool]
fn weather(#[cfg(all())] city: String) -> String {
    city
}

fn main() {}
