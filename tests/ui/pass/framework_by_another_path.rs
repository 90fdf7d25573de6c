//! `crate =` reaches the framework where it is re-exported.
#![deny(warnings)]
#![allow(clippy::all, clippy::pedantic)] // the lints of its author are another matter: see `strict_lints`

mod facade {
    pub mod tools {
        pub use tool_core::*;
    }
}

use self::facade::tools::{ToolContext, ToolError, tool, toolset};

// Whatever is called `tool_core` here is something else.
mod tool_core_is_not_in_scope {
    #![allow(dead_code)]
    pub struct Nothing;
}

#[derive(Default)]
struct Weather;

#[toolset(crate = crate::pass::framework_by_another_path::facade::tools)]
impl Weather {
    /// Get the weather.
    #[tool]
    fn get(
        &self,
        city: &str,
        #[serde(deserialize_with = "celsius::deserialize")] degrees: i32,
    ) -> Result<String, Failure> {
        if degrees > 99 { Err(Failure) } else { Ok(city.to_owned()) }
    }
}

mod celsius {
    use super::facade::tools::serde::{Deserialize, Deserializer};

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<i32, D::Error> {
        i32::deserialize(from)
    }
}

#[derive(ToolError)]
#[tool_error(crate = crate::pass::framework_by_another_path::facade::tools, kind = "transient")]
struct Failure;

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("too hot")
    }
}

/// Add two numbers.
#[tool(crate = self::facade::tools)]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

#[test]
fn crate_reaches_the_framework_where_it_is_exported_again() {
    let _ = tool_core_is_not_in_scope::Nothing;
    assert!(ToolContext::builder().with(Weather).with(add).build().is_ok());
}
