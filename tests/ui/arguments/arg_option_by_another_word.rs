#![allow(unused_variables)]

use tool_core::tool;

/// Get the weather.
#[tool]
fn weather(#[arg(optional, desc = "Where")] city: String) {}

fn main() {}
