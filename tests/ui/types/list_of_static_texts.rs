#![allow(unused_variables)]

use tool_core::tool;

/// Get the weather.
#[tool]
fn weather(cities: &[&'static str]) {}

fn main() {}
