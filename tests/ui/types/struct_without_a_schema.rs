#![allow(unused_variables)]

use tool_core::{serde::Deserialize, tool};

#[derive(Deserialize)]
#[serde(crate = "tool_core::serde")]
struct City {
    name: String,
}

/// Get the weather.
#[tool]
fn weather(city: City) {}

fn main() {}
