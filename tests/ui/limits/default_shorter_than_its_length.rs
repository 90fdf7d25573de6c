#![allow(unused_variables)]

use tool_core::tool;

/// Get the weather.
#[tool]
fn weather(#[arg(default = "abc", length(5..))] city: &str) {}

fn main() {}
