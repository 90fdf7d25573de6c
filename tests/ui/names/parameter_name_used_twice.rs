#![allow(unused_variables)]

use tool_core::tool;

/// Get the weather.
#[tool]
fn weather(#[arg(name = "city")] town: String, city: String) {}

fn main() {}
