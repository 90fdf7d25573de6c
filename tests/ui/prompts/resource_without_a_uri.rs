use tool_core::resource;

/// The notes.
#[resource(mime = "text/plain")]
fn notes() -> &'static str {
    "none"
}

fn main() {}
