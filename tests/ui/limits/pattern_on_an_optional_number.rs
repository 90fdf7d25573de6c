#![allow(unused_variables)]

use tool_core::tool;

/// Get the weather.
#[tool]
fn weather(#[arg(pattern = "^[0-9]+$")] days: Option<u32>) {}

fn main() {}
