#![allow(unused_variables)]

use tool_core::tool;

/// Get the weather.
#[tool]
fn weather(#[arg(pattern = 5)] city: &str) {}

fn main() {}
