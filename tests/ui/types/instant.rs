#![allow(unused_variables)]

use std::time::Instant;
use tool_core::tool;

/// Get the weather.
#[tool]
fn weather(at: Instant) {}

fn main() {}
