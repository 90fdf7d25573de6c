use tool_core::resource;

/// The notes.
#[resource(uri = "notes/all")]
fn notes() -> &'static str {
    "none"
}

fn main() {}
