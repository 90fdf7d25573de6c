#![allow(unused_variables)]

use tool_core::tool;

/// Get the weather.
#[tool]
fn weather(#[arg(default = "yes")] metric: bool) {}

fn main() {}
