#![allow(unused_variables)]

use tool_core::{schemars::JsonSchema, serde::Deserialize, tool};

#[derive(Default, Deserialize, JsonSchema)]
#[serde(crate = "tool_core::serde")]
#[schemars(crate = "tool_core::schemars")]
struct Paging {
    page: u32,
}

/// Get the weather.
#[tool]
fn weather(#[arg(items(1..=5))] paging: Paging) {}

fn main() {}
