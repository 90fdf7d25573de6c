#![allow(unused_variables)]

use tool_core::tool;

/// Get the weather.
#[tool]
fn weather(#[serde(alias = "city")] town: String, city: String) {}

fn main() {}
