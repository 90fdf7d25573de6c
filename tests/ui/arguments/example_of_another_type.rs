#![allow(unused_variables)]

use tool_core::tool;

/// Get the weather.
#[tool]
fn weather(#[arg(example = "tomorrow")] days: u32) {}

fn main() {}
