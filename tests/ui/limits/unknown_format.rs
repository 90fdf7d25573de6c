#![allow(unused_variables)]

use tool_core::tool;

/// Get the weather.
#[tool]
fn weather(#[arg(format = "mail")] address: &str) {}

fn main() {}
