#![allow(unused_variables)]

use tool_core::tool;

/// Get the weather.
#[tool]
fn weather(show: fn(u8) -> u8) {}

fn main() {}
