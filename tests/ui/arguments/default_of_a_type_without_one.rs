#![allow(unused_variables)]

use tool_core::{Timestamp, tool};

/// Get the weather.
#[tool]
fn weather(#[arg(default)] at: Timestamp) {}

fn main() {}
