use tool_core::toolset;

struct Notes;

#[toolset(discover = false)]
impl Notes {
    /// A note.
    #[resource(uri = "notes://{id}")]
    fn note(&self, id: &str, folder: &str) -> String {
        format!("{folder}/{id}")
    }
}

fn main() {}
