//! Conditional methods remove their tools, and may share a name.
#![deny(warnings)]
#![allow(non_snake_case, unused_variables, clippy::all, clippy::pedantic)] // `strict_lints` covers lints

use std::sync::atomic::{AtomicUsize, Ordering};
use tool_core::{RunContext, ToolContext, toolset};

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

struct Oracle;

#[toolset]
impl Oracle {
    /// Ask. The arguments of other attributes may be named like those of the framework.
    #[cfg_attr(any(), missing::instrument(skip(self, tool, prompt)))]
    #[cfg_attr(all(), must_use)]
    #[tool]
    fn ask(&self, prompt: &str) -> usize {
        prompt.len()
    }
}

#[test]
fn cfg_attr_may_mention_a_prompt() {
    let tools = ToolContext::builder().with(Oracle).build().expect("sound");
    assert!(tools.has_tool("ask"));
}

struct Device(AtomicUsize);

#[toolset]
impl Device {
    #[cfg(any())]
    #[setup]
    fn open(&self) -> Missing {
        Missing
    }

    #[cfg(all())]
    #[setup]
    async fn open(&self) {
        self.0.store(7, Ordering::Relaxed);
    }

    #[cfg(any())]
    #[close]
    fn shut(&self) {}

    /// Read.
    #[tool]
    fn read(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

#[tokio::test]
async fn the_setup_of_this_build_runs() {
    let device = Device(AtomicUsize::new(0));
    let tools = ToolContext::builder().with(device).build().expect("sound");
    let (tools, failures) = tools.setup().await;
    assert!(failures.is_empty());
    let response = tools.call("read", "{}", &RunContext::detached()).await;
    assert_eq!(response.data_json(), Some("7"));
}

struct Plain;

#[toolset]
impl Plain {
    #[cfg(any())]
    #[setup]
    fn open(&self) {}

    /// Read.
    #[tool]
    fn read(&self) -> u8 {
        1
    }
}

#[tokio::test]
async fn a_setup_of_another_build_is_not_awaited() {
    let tools = ToolContext::builder().with(Plain).build().expect("sound");
    let response = tools.call("read", "{}", &RunContext::detached()).await;
    assert_eq!(response.data_json(), Some("1"));
}

struct Mixed;

#[toolset]
impl Mixed {
    /// The methods are named alike in camel case.
    #[cfg(all())]
    #[tool]
    fn get_it(&self, first: u8) {}

    /// The methods are named alike in camel case.
    #[cfg(all())]
    #[tool(name = "get_other")]
    fn get__it(&self, second: &str) {}
}

#[test]
fn conditional_methods_may_be_alike_in_camel_case() {
    let tools = ToolContext::builder().with(Mixed).build().expect("sound");
    assert!(tools.has_tool("get_it") && tools.has_tool("get_other"));
}
