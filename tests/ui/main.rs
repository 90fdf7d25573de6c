//! The errors of the macros, and code that they must accept.
//!
//! Each file has one mistake, and the output of the compiler beside it. After a change of wording, review
//! the differences from `TRYBUILD=overwrite cargo test -p tests --test ui`.

pub mod pass;

use std::fs;
use std::io::{Write as _, stderr};
use std::process::Command;

/// The toolchain of the `.stderr` files.
const PINNED: &str = "1.95.";

/// The folder of code that must compile. Its files are modules of this test, as trybuild would rebuild every dependency.
const PASS: &str = "pass";

#[test]
fn compile_errors_match_the_expected_output() {
    if let Some(other) = another_toolchain() {
        // The tests of tool-macros check the messages. The output of rustc around them differs with every release.
        // The test harness would hide the output of a test that passes.
        let _ = writeln!(stderr(), "SKIPPED: the `.stderr` files are those of rustc {PINNED}x, and this is {other}");
        return;
    }
    let cases = trybuild::TestCases::new();
    for folder in folders() {
        cases.compile_fail(format!("ui/{folder}/*.rs"));
    }
}

/// Returns the folders with mistakes.
fn folders() -> impl Iterator<Item = String> {
    let entries = fs::read_dir("ui").into_iter().flatten().flatten().filter(|entry| entry.path().is_dir());
    entries.filter_map(|entry| entry.file_name().into_string().ok()).filter(|name| name != PASS)
}

/// Returns the version of the compiler, if it is not the pinned one.
fn another_toolchain() -> Option<String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = match Command::new(rustc).arg("--version").output() {
        Ok(output) => String::from_utf8_lossy(&output.stdout).trim().to_owned(),
        Err(error) => return Some(format!("unknown ({error})")),
    };
    let is_pinned = version.strip_prefix("rustc ").is_some_and(|number| number.starts_with(PINNED));
    (!is_pinned).then_some(version)
}
