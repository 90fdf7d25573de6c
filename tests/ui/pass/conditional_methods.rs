//! Conditional methods remove their tools, and may share a name.
#![deny(warnings)]
#![allow(clippy::all, clippy::pedantic)] // `strict_lints` covers lints

use tool_core::{ToolContext, toolset};

struct Disk;

#[toolset]
impl Disk {
    /// Free space, as this system counts it.
    #[cfg(all())]
    #[tool]
    fn free(&self, path: &str) -> usize {
        path.len()
    }

    /// Free space, as another system counts it.
    #[cfg(any())]
    #[tool]
    fn free(&self, drive: char) -> Missing {
        Missing(drive)
    }

    /// Not here.
    #[cfg(any())]
    #[tool]
    fn gone(&self, at: Missing) {}
}

#[cfg(any())]
#[toolset]
impl Missing {
    /// Not here.
    #[tool]
    fn gone(&self) {}
}

#[test]
fn cfg_removes_tool_and_method() {
    let tools = ToolContext::builder().with(Disk).build().expect("one tool");
    assert!(tools.has_tool("free") && !tools.has_tool("gone"));
}
