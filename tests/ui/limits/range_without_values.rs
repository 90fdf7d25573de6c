#![allow(unused_variables)]

use tool_core::tool;

/// Get the weather.
#[tool]
fn weather(#[arg(range(5..5))] minutes: u32) {}

fn main() {}
