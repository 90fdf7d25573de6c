use tool_core::{agent, toolset};

struct Library;

#[toolset]
impl Library {
    /// Find a book.
    #[tool]
    #[agent("librarian")]
    #[agent("clerk")]
    fn find(&self) {}
}

fn main() {}
