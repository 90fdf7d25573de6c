//! A module without the prelude.
#![no_implicit_prelude]
#![deny(warnings)]
#![allow(clippy::all, clippy::pedantic)] // `strict_lints` covers lints

use ::std::clone::Clone;
use ::std::convert::From;

#[derive(Clone)]
struct Weather {
    days: u32,
}

#[::tool_core::toolset]
impl Weather {
    /// Get the weather.
    #[tool]
    async fn get(
        &self,
        city: &str,
        #[arg(default = self.days, range(1..=14))] days: u32,
        figures: ::std::option::Option<::std::vec::Vec<::std::string::String>>,
        #[arg(default = "C", one_of("C", "F"))] unit: ::std::string::String,
    ) -> ::std::result::Result<::std::string::String, ::std::string::String> {
        ::std::mem::drop((days, figures, unit));
        ::std::result::Result::Ok(::std::string::String::from(city))
    }
}

/// Add two numbers.
#[::tool_core::tool]
fn add(a: i64, #[arg(default)] b: i64) -> i64 {
    a + b
}

/// Add two numbers, with time to think.
#[::tool_core::tool]
#[::tool_core::agent("adder")]
async fn add_later(a: i64) -> ::std::result::Result<i64, ::std::string::String> {
    ::std::future::ready(()).await;
    ::std::result::Result::Ok(add(a, 1))
}

#[::tool_core::agent]
fn plan() -> i64 {
    let [one, other] = ::tool_core::wrap_all!([add, subtract]);
    other(one(1, 2), 1)
}

fn subtract(a: i64, b: i64) -> i64 {
    a - b
}

#[::core::prelude::v1::test]
fn the_prelude_may_be_missing() {
    let tools = ::tool_core::ToolContext::builder()
        .with(Clone::clone(&Weather { days: 3 }))
        .with(add)
        .build();
    ::std::assert!(tools.is_ok());
    ::std::assert_eq!(plan(), 2);
    ::std::mem::drop(add_later(1));
}
