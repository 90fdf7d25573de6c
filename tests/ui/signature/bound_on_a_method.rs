use std::fmt::Debug;
use tool_core::toolset;

struct Store<T>(T);

#[toolset]
impl<T: Send + Sync + 'static> Store<T> {
    /// Show what is stored.
    #[tool]
    fn show(&self) -> String
    where
        T: Debug,
    {
        format!("{:?}", self.0)
    }
}

fn main() {}
