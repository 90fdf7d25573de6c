#![allow(unused_variables)]

use tool_core::tool;

struct City<'a>(&'a str);

/// Get the weather.
#[tool]
fn weather(city: City<'_>) {}

fn main() {}
