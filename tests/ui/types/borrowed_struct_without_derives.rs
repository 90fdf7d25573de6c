#![allow(unused_variables)]

use tool_core::tool;

struct City {
    name: String,
}

/// Get the weather.
#[tool]
fn weather(city: &City) {}

fn main() {}
