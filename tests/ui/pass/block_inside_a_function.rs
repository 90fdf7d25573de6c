//! A block and a tool in the body of a function.
#![deny(warnings)]
#![allow(clippy::all, clippy::pedantic)] // `strict_lints` covers lints

use tool_core::{ToolContext, Toolset as _, tool, toolset};

#[test]
fn block_and_tool_can_be_inside_a_function() {
    #[derive(Default)]
    struct Counter;

    #[toolset]
    impl Counter {
        /// Count.
        #[tool]
        fn count(&self, #[arg(default = 1)] step: u32) -> u32 {
            step
        }
    }

    /// Add two numbers.
    #[tool]
    fn add(a: i64, b: i64) -> i64 {
        a + b
    }

    let tools = ToolContext::builder()
        .with(Counter)
        .with(add)
        .build()
        .expect("two tools");
    assert_eq!(tools.definitions().count(), 2);
    assert_eq!(Counter.id(), "counter");
}
