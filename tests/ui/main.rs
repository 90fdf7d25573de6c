//! The errors of the macros, and code that they must accept.
//!
//! Each file has one mistake, and the output of the compiler beside it. After a change of wording, review
//! the differences from `TRYBUILD=overwrite cargo test --all-features --test ui`.

pub mod pass;

use std::fs;
use std::process::Command;

/// The toolchain of the `.stderr` files, as `rust-toolchain.toml` pins it.
const PINNED: &str = env!("CARGO_PKG_RUST_VERSION");

/// The folder of code that must compile. Its files are modules of this test, as trybuild would rebuild every dependency.
const PASS: &str = "pass";

#[test]
fn compile_errors_match_the_expected_output() {
    // The output of rustc around the messages differs with every release.
    let found = toolchain();
    let is_pinned = found.strip_prefix(&format!("rustc {PINNED}.")).is_some();
    assert!(
        is_pinned,
        "expected rustc {PINNED}, whose output is in the `.stderr` files, got {found}\n\
        help: run the test without `+toolchain` and `RUSTUP_TOOLCHAIN`, so that `rust-toolchain.toml` decides"
    );
    let cases = trybuild::TestCases::new();
    let folders = folders().collect::<Vec<_>>();
    assert!(folders.len() > 10, "the cases are not found: {folders:?}");
    for folder in folders {
        cases.compile_fail(format!("{folder}/*.rs"));
    }
}

/// Returns the folders with mistakes.
fn folders() -> impl Iterator<Item = String> {
    let entries = fs::read_dir(".")
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.path().is_dir());
    entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name != PASS)
}

/// Returns the version of the compiler.
fn toolchain() -> String {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc)
        .arg("--version")
        .output()
        .expect("rustc runs");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}
