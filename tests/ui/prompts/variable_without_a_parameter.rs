use tool_core::toolset;

struct Notes;

#[toolset(discover = false)]
impl Notes {
    /// A note.
    #[resource(uri = "notes://{folder}/{id}")]
    fn note(&self, id: &str) -> String {
        id.to_owned()
    }
}

fn main() {}
