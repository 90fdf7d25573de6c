//! Constants, statics and functions in lower case that have the names of locals in generated code.
#![allow(dead_code, non_upper_case_globals, unused_variables)]
#![allow(clippy::all, clippy::pedantic)]

use tool_core::{RunContext, ToolContext, ToolError, tool, toolset};

const args: u8 = 1;
const index: u8 = 1;
const call: u8 = 1;
const this: u8 = 1;
const fields: u8 = 1;
const rest: u8 = 1;
const future: u8 = 1;
const value: u8 = 1;
const text: u8 = 1;
const decide: u8 = 1;
const from: u8 = 1;
const message: u8 = 1;
const g: u8 = 1;
const f0: u8 = 1;
const f1: u8 = 1;
const ctx0: u8 = 1;
const ctx2: u8 = 1;
const default2: u8 = 1;
const error: u8 = 1;
const span: u8 = 1;
const name: u8 = 1;

#[derive(Clone, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct More {
    more: u8,
}

#[derive(Debug, ToolError)]
enum Failure {
    Busy(#[allow(dead_code)] u8),
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("busy")
    }
}

struct Station {
    level: u32,
}

#[toolset(discover = false)]
impl Station {
    /// Read.
    #[tool(confirm = |a: &ReadArgs<'_>| a.tags.is_empty(), args = ReadArgs)]
    async fn read(
        &self,
        _ctx: &RunContext,
        tags: &[&str],
        #[arg(default = self.level, range(1..=9))] level: u32,
        #[arg(default = "all", length(1..))] which: &str,
        #[arg(default = Some("a"))] unit: Option<&str>,
        #[arg(default)] list: Vec<u8>,
        #[arg(flatten)] more: More,
    ) -> Result<u32, Failure> {
        if tags.is_empty() {
            Err(Failure::Busy(args))
        } else {
            Ok(level + which.len() as u32)
        }
    }

    /// Begin.
    #[setup]
    async fn begin(&self) -> Result<(), String> {
        Ok(())
    }
}

/// Add.
#[tool]
#[tool_core::agent]
fn add(a: u8, #[arg(default = 1)] b: u8) -> u8 {
    a + b
}

#[test]
fn constants_may_have_the_names_of_generated_locals() {
    let tools = ToolContext::builder()
        .with(Station { level: 3 })
        .with(add)
        .build();
    assert!(tools.is_ok());
}

mod limits {
    pub const MOST: u8 = 9;

    pub fn is_large(args: &super::TakeArgs) -> bool {
        args.count > 3
    }

    pub fn is_open(_: &tool_core::RunContext) -> bool {
        true
    }
}

/// Take some.
#[tool(confirm = self::limits::is_large, dynamic = self::limits::is_open, args = TakeArgs)]
fn take(#[arg(default = self::limits::MOST, example = self::limits::MOST)] count: u8) -> u8 {
    count
}

#[toolset(part)]
impl Station {
    /// Take as many as the station has.
    #[tool]
    fn take_all(&self, #[arg(default = self::limits::MOST.max(self.level as u8))] count: u8) -> u8 {
        count
    }
}

#[test]
fn paths_may_begin_with_the_module_self() {
    let tools = ToolContext::builder()
        .with(Station { level: 3 })
        .with(take)
        .build()
        .expect("sound");
    assert!(tools.has_tool("take") && tools.has_tool("take_all"));
}
