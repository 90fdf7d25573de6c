#![allow(unused_variables)]

use tool_core::tool;

/// Get the weather.
#[tool]
fn weather(#[arg(one_of(ASC, "desc"))] order: String) {}

fn main() {}
