#![allow(unused_variables)]

use std::ffi::OsStr;
use tool_core::tool;

/// Read some files.
#[tool]
fn read(names: &[&OsStr]) {}

fn main() {}
