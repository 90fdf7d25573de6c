#![allow(unused_variables)]

use tool_core::tool;

/// Get the weather.
#[tool]
fn weather(#[arg(range(min()..))] minutes: u32) {}

fn main() {}
