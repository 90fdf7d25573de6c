#![allow(unused_variables)]

use tool_core::tool;

/// Get the weather.
#[tool]
fn weather(key: [u8; 64]) {}

fn main() {}
