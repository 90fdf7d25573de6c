#![allow(unused_variables)]

use tool_core::tool;

struct Uuid(u128);

/// Get the weather.
#[tool]
fn weather(station: &Uuid) {}

fn main() {}
