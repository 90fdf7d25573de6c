//! Blocks and tools that `macro_rules!` defines, with types, names and texts as arguments.
#![deny(warnings)]
#![allow(clippy::all, clippy::pedantic)] // `strict_lints` covers lints

use tool_core::{ToolContext, tool, toolset};

macro_rules! counter {
    ($name:ident, $method:ident, $number:ty, $default:expr, $description:literal) => {
        #[derive(Default)]
        struct $name;

        #[toolset]
        impl $name {
            #[doc = $description]
            #[tool]
            fn $method(
                &self,
                #[arg(default = $default, range(0..=9))] step: $number,
                note: Option<&str>,
            ) -> $number {
                let _ = note;
                step
            }
        }
    };
}

counter!(Sheep, count_sheep, u32, 1, "Count sheep.");
counter!(Goats, count_goats, Option<u8>, 2, "Count goats.");

macro_rules! whole {
    ($item:item) => {
        #[tool]
        $item
    };
}

whole! {
    /// Add two numbers.
    fn add(a: i64, b: i64) -> i64 {
        a + b
    }
}

#[test]
fn macro_rules_can_define_blocks_and_tools() {
    let tools = ToolContext::builder()
        .with(Sheep)
        .with(Goats)
        .with(add)
        .build()
        .expect("three tools");
    assert!(tools.has_tool("count_goats"));
}
