#![allow(unused_variables)]

use std::path::Path;
use tool_core::tool;

/// Read a file.
#[tool]
fn read(file: Option<&Path>) {}

fn main() {}
