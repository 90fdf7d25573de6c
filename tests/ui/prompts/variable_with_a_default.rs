use tool_core::resource;

/// A note.
#[resource(uri = "notes://{id}")]
fn note(#[arg(default = 1)] id: u32) -> String {
    id.to_string()
}

fn main() {}
