#![allow(unused_variables)]

use std::collections::HashSet;

use tool_core::tool;

/// Get the weather.
#[tool]
fn weather(degrees: HashSet<f64>) {}

fn main() {}
