#![allow(unused_variables)]

use tool_core::tool;

const MAX: f64 = 0.5;

/// Get the weather.
#[tool]
fn weather(#[arg(range(1..=MAX))] minutes: u32) {}

fn main() {}
