#![allow(unused_variables)]

use tool_core::tool;

/// Get the weather.
#[tool]
fn weather(#[arg(default = 300)] days: u8) {}

fn main() {}
