#![allow(unused_variables)]

use tool_core::tool;

/// Get the weather.
#[tool]
fn weather(#[arg(length(-1..))] city: &str) {}

fn main() {}
