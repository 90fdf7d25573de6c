use tool_core::toolset;

struct Shelf;

#[toolset]
impl Shelf {
    /// Look something up.
    #[tool]
    fn look_up(&self, what: String) -> &str {
        &what
    }
}

fn main() {}
