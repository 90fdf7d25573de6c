//! A scope that redefines the names that generated code uses.
#![allow(dead_code, non_camel_case_types, unused_macros)]
#![allow(clippy::all, clippy::pedantic)]

use tool_core::{RunContext, agent, tool, toolset};

struct Option;
struct Result;
struct String;
struct Vec;
struct Box;
struct Some;
struct None;
struct Ok;
struct Err;
struct Default;
struct Into;
struct Iterator;
struct Parameter;
struct Call;
struct GetArgs;
struct AddArgs;
type str = u8;
mod std {}
mod core {}
mod serde {}
mod schemars {}
mod inventory {}

macro_rules! format {
    () => {};
}
macro_rules! vec {
    () => {};
}

struct Weather {
    days: u32,
}

#[toolset]
impl Weather {
    /// Get the weather.
    #[tool(max_calls = 3, timeout = "1s", confirm)]
    async fn get(
        &self,
        ctx: &RunContext,
        #[arg(length(1..=80), pattern = "^[A-Z]", default = "Berlin")] city: ::std::string::String,
        #[arg(default = self.days, range(1..=14))] days: u32,
        #[arg(items(1..=3))] figures: &[::std::string::String],
        #[arg(one_of("a", "b"))] unit: ::core::option::Option<::std::string::String>,
        #[arg(default)] call: u32,
        #[arg(default)] fields: u32,
        #[arg(default = 1 + 1)] args: u32,
        this: ::core::option::Option<u8>,
    ) -> ::core::result::Result<u32, ::std::string::String> {
        let _ = (ctx, city, figures, unit, call, fields, args, this);
        ::core::result::Result::Ok(days)
    }
}

/// Add two numbers.
#[tool]
fn add(a: i64, #[arg(default)] b: i64) -> i64 {
    a + b
}

/// Add two numbers, with time to think.
#[tool]
#[agent("adder")]
async fn add_later(a: i64) -> ::core::result::Result<i64, u8> {
    if a > 9 {
        return ::core::result::Result::Err(1);
    }
    ::core::result::Result::Ok(add(a, 1))
}

#[agent]
fn plan() -> i64 {
    ::tool_core::wrap_tool!(add)(1, 2)
}

#[test]
fn prelude_names_can_be_redefined() {
    let tools = ::tool_core::ToolContext::builder()
        .with(Weather { days: 3 })
        .with(add)
        .build();
    assert!(tools.is_ok());
    assert_eq!(plan(), 3);
}
