#![allow(unused_variables)]

use tool_core::tool;

/// Get the weather.
#[tool]
fn weather(#[serde(default = "a b")] days: u32) {}

fn main() {}
