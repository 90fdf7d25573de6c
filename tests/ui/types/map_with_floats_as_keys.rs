#![allow(unused_variables)]

use std::collections::BTreeMap;

use tool_core::tool;

/// Get the weather.
#[tool]
fn weather(cities: BTreeMap<f64, String>) {}

fn main() {}
