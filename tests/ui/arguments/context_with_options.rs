#![allow(unused_variables)]

use tool_core::{Progress, tool};

/// Get the weather.
#[tool]
fn weather(#[context(Progress)] progress: Progress) {}

fn main() {}
