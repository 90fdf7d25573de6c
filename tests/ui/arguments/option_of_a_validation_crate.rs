#![allow(unused_variables)]

use tool_core::tool;

/// Get the weather.
#[tool]
fn weather(#[arg(min = 1, max = 9)] days: u32) {}

fn main() {}
