#![allow(unused_variables)]

use tool_core::{schemars::JsonSchema, tool};

#[derive(JsonSchema)]
#[schemars(crate = "tool_core::schemars")]
struct City {
    name: String,
}

/// Get the weather.
#[tool]
fn weather(city: City) {}

fn main() {}
