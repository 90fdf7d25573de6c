use tool_core::toolset;

struct Notes;

#[toolset(discover = false)]
impl Notes {
    /// All notes.
    #[resource(uri = "notes://all")]
    fn all(&self) -> &'static str {
        "none"
    }

    /// Every note.
    #[resource(uri = "notes://all")]
    fn every(&self) -> &'static str {
        "none"
    }
}

fn main() {}
