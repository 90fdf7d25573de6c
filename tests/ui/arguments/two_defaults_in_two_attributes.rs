#![allow(unused_variables)]

use tool_core::tool;

/// Get the weather.
#[tool]
fn weather(#[arg(default = 1)] #[arg(default = 2)] days: u32) {}

fn main() {}
