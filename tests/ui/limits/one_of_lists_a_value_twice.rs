#![allow(unused_variables)]

use tool_core::tool;

/// Get the weather.
#[tool]
fn weather(#[arg(one_of("asc", "desc", "asc"))] order: String) {}

fn main() {}
