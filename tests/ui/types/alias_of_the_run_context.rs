#![allow(unused_variables)]

use tool_core::{RunContext, tool};

type Ctx = RunContext;

/// Get the weather.
#[tool]
fn weather(ctx: Ctx) {}

fn main() {}
