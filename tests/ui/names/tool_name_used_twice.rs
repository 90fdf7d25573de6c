use tool_core::toolset;

struct Books;

#[toolset]
impl Books {
    /// Find a book.
    #[tool(name = "search")]
    fn find(&self) {}

    /// Find a book again.
    #[tool(name = "search")]
    fn find_again(&self) {}
}

fn main() {}
