use tool_core::toolset;

struct Books;

#[toolset]
impl Books {
    /// Find a book.
    #[tool(name = "find-Book")]
    fn find(&self) {}

    /// Find a book again.
    #[tool]
    fn find_book(&self) {}
}

fn main() {}
