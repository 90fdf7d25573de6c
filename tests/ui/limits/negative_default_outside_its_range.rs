#![allow(unused_variables)]

use tool_core::tool;

/// Get the weather.
#[tool]
fn weather(#[arg(default = -91.5, range(-90.0..=90.0))] latitude: f64) {}

fn main() {}
