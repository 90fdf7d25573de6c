#![allow(unused_variables)]

use tool_core::tool;

/// Get the weather.
#[tool]
fn weather(#[arg(default = "kelvin", one_of("celsius", "fahrenheit"))] unit: &str) {}

fn main() {}
