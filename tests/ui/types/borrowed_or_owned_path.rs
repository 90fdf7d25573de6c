#![allow(unused_variables)]

use std::borrow::Cow;
use std::path::Path;
use tool_core::tool;

/// Read a file.
#[tool]
fn read(file: Cow<'_, Path>) {}

fn main() {}
