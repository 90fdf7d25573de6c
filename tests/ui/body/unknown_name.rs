use tool_core::toolset;

struct Shelf;

#[toolset]
impl Shelf {
    /// Look something up.
    #[tool]
    async fn look_up(&self, what: String) -> usize {
        self.number_of(wath).await
    }
}

fn main() {}
