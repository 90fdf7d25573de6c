#![allow(unused_variables)]

use tool_core::tool;

/// Get the weather.
#[tool]
fn weather(#[arg(pattern = "^(a|b$")] city: &str) {}

fn main() {}
