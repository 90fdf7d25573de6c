#![allow(unused_variables)]

use tool_core::tool;

/// Get the weather.
#[tool]
fn weather(at: *const u8) {}

fn main() {}
