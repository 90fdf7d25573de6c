#![allow(unused_variables)]

use tool_core::{schemars::JsonSchema, serde::Deserialize, tool};

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "tool_core::serde")]
#[schemars(crate = "tool_core::schemars")]
struct City {
    name: String,
}

impl City {
    fn berlin() -> Self {
        Self { name: "Berlin".to_owned() }
    }
}

/// Get the weather.
#[tool]
fn weather(#[arg(default = City::berlin())] city: City) {}

fn main() {}
