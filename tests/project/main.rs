//! The project as a whole: its layers, its dependencies, and what a newcomer's crate needs.

#![allow(unreachable_pub)] // a test's modules are nobody's interface

mod dependencies;
mod fresh_crate;
mod modules;
mod twins;

use std::path::PathBuf;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("the workspace")
}
