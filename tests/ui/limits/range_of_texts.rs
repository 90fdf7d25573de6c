#![allow(unused_variables)]

use tool_core::tool;

/// Get the weather.
#[tool]
fn weather(#[arg(range("a"..="z"))] minutes: u32) {}

fn main() {}
