#![allow(unused_variables)]

use tool_core::tool;

/// Get the weather.
#[tool]
fn weather(#[arg(default = 3, range(5..=480))] minutes: u32) {}

fn main() {}
