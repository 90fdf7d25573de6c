use tool_core::resource;

/// A note.
#[resource(uri = "notes://all{?id}")]
fn note(id: &str) -> String {
    id.to_owned()
}

fn main() {}
