#![allow(unused_variables)]

use std::collections::HashMap;
use tool_core::tool;

/// Get the weather.
#[tool]
fn weather(days: HashMap<&str, u8>) {}

fn main() {}
