#![allow(unused_variables)]

use tool_core::tool;

/// Get the weather.
#[tool]
fn weather(city: Option<&'static str>) {}

fn main() {}
