#![allow(unused_variables)]

use tool_core::tool;

/// Get the weather.
#[tool]
fn weather(show: Box<dyn ToString>) {}

fn main() {}
