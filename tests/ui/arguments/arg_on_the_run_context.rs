#![allow(unused_variables)]

use tool_core::{RunContext, tool};

/// Get the weather.
#[tool]
fn weather(#[arg(name = "context")] ctx: &RunContext) {}

fn main() {}
