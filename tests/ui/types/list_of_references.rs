#![allow(unused_variables)]

use tool_core::tool;

/// Get the weather.
#[tool]
fn weather(days: Vec<&u8>) {}

fn main() {}
