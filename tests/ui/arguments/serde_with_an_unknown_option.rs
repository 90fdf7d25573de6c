#![allow(unused_variables)]

use tool_core::tool;

/// Get the weather.
#[tool]
fn weather(#[serde(renam = "town")] city: String) {}

fn main() {}
