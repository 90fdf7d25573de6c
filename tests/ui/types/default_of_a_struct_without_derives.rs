#![allow(unused_variables)]

use tool_core::tool;

#[derive(Default)]
struct City {
    name: String,
}

/// Get the weather.
#[tool]
fn weather(#[arg(default)] city: City) {}

fn main() {}
