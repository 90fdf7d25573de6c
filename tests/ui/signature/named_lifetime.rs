use tool_core::tool;

/// Shorten the text.
#[tool]
fn shorten<'a>(text: &'a str) -> &'a str {
    text.trim()
}

fn main() {}
