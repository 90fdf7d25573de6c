#![allow(unused_variables)]

use std::collections::BTreeSet;

use tool_core::tool;

/// Get the weather.
#[tool]
fn weather(degrees: Vec<Box<BTreeSet<f32>>>) {}

fn main() {}
