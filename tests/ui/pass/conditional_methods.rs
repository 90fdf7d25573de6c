//! A tool goes with its method, and conditional methods may share a name.
#![deny(warnings)]
#![allow(clippy::all, clippy::pedantic)] // the lints of its author are another matter: see `strict_lints`

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
fn a_tool_goes_with_its_method() {
    let tools = ToolContext::builder().with(Disk).build().expect("one tool");
    assert!(tools.has_tool("free") && !tools.has_tool("gone"));
}
