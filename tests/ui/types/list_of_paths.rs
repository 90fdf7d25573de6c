#![allow(unused_variables)]

use std::path::Path;
use tool_core::tool;

/// Read some files.
#[tool]
fn read(files: Vec<&Path>) {}

fn main() {}
