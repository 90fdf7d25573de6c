#![allow(unused_variables)]

use tool_core::tool;

/// Get the weather.
#[tool]
fn weather(#[arg(one_of("1", "2"))] days: u32) {}

fn main() {}
