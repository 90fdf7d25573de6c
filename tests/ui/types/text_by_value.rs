#![allow(unused_variables)]

use tool_core::tool;

/// Say something.
#[tool]
fn say(words: str) {}

fn main() {}
