#![allow(unused_variables)]

use tool_core::tool;

/// Get the weather.
#[tool]
fn weather(#[arg(default = 10, range(0..10))] days: u32) {}

fn main() {}
