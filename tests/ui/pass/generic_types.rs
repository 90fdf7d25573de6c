//! Generic toolsets, with bounds, where clauses, constants and named parts.
#![deny(warnings)]
#![allow(clippy::all, clippy::pedantic)] // `strict_lints` covers lints

use tool_core::schemars::JsonSchema;
use tool_core::serde::{Serialize, de::DeserializeOwned};
use tool_core::{ToolContext, toolset};

struct Store<T, const N: usize> {
    entries: [T; N],
}

#[toolset(name = "store", parts(admin))]
impl<T, const N: usize> Store<T, N>
where
    T: Clone + Serialize + DeserializeOwned + JsonSchema + PartialEq + Send + Sync + 'static,
{
    /// Find an entry.
    #[tool]
    async fn find(&self, entry: T, others: Option<Vec<T>>) -> Option<T> {
        let _ = others;
        self.entries.iter().find(|known| **known == entry).cloned()
    }
}

#[toolset(part = admin)]
impl<T, const N: usize> Store<T, N>
where
    T: Clone + Serialize + DeserializeOwned + JsonSchema + PartialEq + Send + Sync + 'static,
{
    /// Count the entries.
    #[tool]
    fn count(&self, #[arg(default = 9)] at_most: usize) -> usize {
        self.entries.len().min(at_most)
    }
}

#[test]
fn toolsets_can_be_generic_with_named_parts() {
    let tools = ToolContext::builder()
        .with(Store { entries: [1_u8, 2] })
        .build()
        .expect("two tools");
    assert!(tools.has_tool("find") && tools.has_tool("count"));
}
