#![allow(unused_variables)]

use tool_core::tool;

/// Get the weather.
#[tool]
fn weather(row: Box<(u8, u8, u8, u8, u8, u8, u8, u8, u8, u8, u8, u8, u8, u8, u8, u8, u8)>) {}

fn main() {}
