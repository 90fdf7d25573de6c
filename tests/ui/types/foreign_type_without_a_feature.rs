#![allow(unused_variables)]

use tool_core::{jiff, tool};

/// Get the weather.
#[tool]
fn weather(zone: jiff::tz::TimeZone) {}

fn main() {}
