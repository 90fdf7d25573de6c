#![allow(unused_variables, dead_code)]

use tool_core::tool;

fn cities() -> Vec<String> {
    Vec::new()
}

/// Get the weather.
#[tool]
fn weather(#[arg(complete = cities)] city: &str) {}

fn main() {}
