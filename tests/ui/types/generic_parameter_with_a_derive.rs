use tool_core::toolset;

struct Store<T>(T);

#[toolset]
impl<T: Send + Sync + 'static> Store<T> {
    /// Put something.
    #[tool]
    fn put(&self, #[serde(with = "text")] what: T) {
        drop(what);
    }
}

fn main() {}
