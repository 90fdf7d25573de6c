#![allow(unused_variables)]

use tool_core::tool;

const MAX: u128 = u128::MAX;

/// Get the weather.
#[tool]
fn weather(#[arg(range(1..=MAX))] station: u128) {}

fn main() {}
