#![allow(unused_variables)]

use tool_core::tool;

/// Get the weather.
#[tool]
fn weather(#[arg(range(1..=5))] metric: bool) {}

fn main() {}
