#![allow(unused_variables)]

use tool_core::jiff::Zoned;
use tool_core::tool;

/// Get the weather.
#[tool]
fn weather(at: Zoned) {}

fn main() {}
