//! Macros with the names of those that generated code could use.
#![allow(unused_macros)]
#![allow(clippy::all, clippy::pedantic)]

macro_rules! refuse {
    ($($name:ident)*) => {
        $(macro_rules! $name {
            ($d:tt) => { compile_error!("a macro of the user's is called") };
        })*
    };
}

refuse! { file line column concat module_path include_str env stringify matches assert panic todo unreachable write }

use tool_core::{ToolContext, ToolError, tool, toolset};

struct Failure;

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("failed")
    }
}

#[derive(ToolError)]
struct Shown;

impl std::fmt::Display for Shown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("failed")
    }
}

struct Files;

#[toolset(discover = false)]
impl Files {
    /// Look up.
    #[tool(guide = "pass/guide.md", confirm)]
    async fn look_up(
        &self,
        #[arg(length(1..=9), default = "a")] text: &str,
    ) -> Result<usize, Shown> {
        if text.is_empty() {
            Err(Shown)
        } else {
            Ok(text.len())
        }
    }
}

/// Add.
#[tool]
#[tool_core::agent]
fn add(a: u8, b: Option<u8>) -> u8 {
    a + b.unwrap_or(0)
}

#[test]
fn macros_may_have_the_names_of_builtin_ones() {
    let tools = ToolContext::builder()
        .with(Files)
        .with(add)
        .build()
        .expect("sound");
    let source = tools.definitions().next().expect("one").source();
    ::core::assert!(source.file.ends_with("macros_in_scope.rs"));
    let _ = Failure.to_string();
}
