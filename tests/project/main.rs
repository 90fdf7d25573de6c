//! What holds for the project as a whole: who depends on whom, what a newcomer's crate needs, how large files grow.

#![allow(unreachable_pub)] // a test's modules are nobody's interface

mod dependencies;
mod files;
mod fresh_crate;
mod twins;

use std::path::PathBuf;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("the workspace")
}
