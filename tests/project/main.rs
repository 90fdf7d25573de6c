//! The project as a whole: its layers, its dependencies, its rules, and the needs of a new crate.

#![allow(unreachable_pub)] // the modules of a test have no public interface

#[path = "../../examples/tests/shared/cargo.rs"]
mod cargo;
mod dependencies;
mod expansion;
mod fresh_crate;
mod links;
mod modules;
mod options;
mod packages;
mod rules;
mod security;
mod twins;

use std::path::PathBuf;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .canonicalize()
        .expect("the workspace")
}
