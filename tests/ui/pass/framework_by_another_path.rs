//! `crate =` with a re-export of the framework.
#![deny(warnings)]
#![allow(clippy::all, clippy::pedantic)] // `strict_lints` covers lints

mod facade {
    pub mod tools {
        pub use tool_core::*;
    }
}

use self::facade::tools::{ToolContext, ToolError, tool, toolset};

// `tool_core` is another module here.
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
        if degrees > 99 {
            Err(Failure)
        } else {
            Ok(city.to_owned())
        }
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

/// Defines a tool whose framework is found from the crate of this macro.
macro_rules! tool_of_this_crate {
    ($name:ident) => {
        /// Tell the degrees.
        #[tool(crate = $crate::pass::framework_by_another_path::facade::tools)]
        fn $name(#[serde(deserialize_with = "celsius::deserialize")] degrees: i32) -> i32 {
            degrees
        }
    };
}

tool_of_this_crate!(tell);

#[test]
fn derived_parameters_find_the_crate_of_a_macro() {
    assert!(ToolContext::builder().with(tell).build().is_ok());
}

#[test]
fn crate_option_accepts_a_re_export() {
    let _ = tool_core_is_not_in_scope::Nothing;
    assert!(
        ToolContext::builder()
            .with(Weather)
            .with(add)
            .build()
            .is_ok()
    );
}
