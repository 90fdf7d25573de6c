use tool_core::toolset;

struct Store<T>(T);


#[toolset(parts(admin))]
impl<T: Send + Sync + 'static> Store<T> {
    /// Count the entries.
    #[tool]
    fn count(&self) -> u32 {
        1
    }
}

fn main() {}
