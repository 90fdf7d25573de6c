//! What the macros say to whoever makes a mistake, and what they must accept.
//!
//! One mistake a file, foldered by kind; beside each stands what the compiler prints. After a change of wording, look at
//! the differences that `TRYBUILD=overwrite cargo test -p tests --test ui` makes.

pub mod pass;

use std::fs;
use std::io::{Write as _, stderr};
use std::process::Command;

/// The toolchain whose words the `.stderr` files hold.
const PINNED: &str = "1.95.";

/// The folder of what must compile: modules of this test, where trybuild would build every dependency again to run them.
const PASS: &str = "pass";

#[test]
fn every_mistake_is_answered_with_its_fix() {
    if let Some(other) = another_toolchain() {
        // Our own words are held by the tests of tool-macros; rustc's frame around them differs with every release.
        // Written past the harness, which would keep the line of a test that passes to itself.
        let _ = writeln!(stderr(), "SKIPPED: the `.stderr` files are those of rustc {PINNED}x, and this is {other}");
        return;
    }
    let cases = trybuild::TestCases::new();
    for folder in folders() {
        cases.compile_fail(format!("ui/{folder}/*.rs"));
    }
}

/// The folders of mistakes.
fn folders() -> impl Iterator<Item = String> {
    let entries = fs::read_dir("ui").into_iter().flatten().flatten().filter(|entry| entry.path().is_dir());
    entries.filter_map(|entry| entry.file_name().into_string().ok()).filter(|name| name != PASS)
}

/// The version of the compiler that will be used, where it is not the pinned one.
fn another_toolchain() -> Option<String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = match Command::new(rustc).arg("--version").output() {
        Ok(output) => String::from_utf8_lossy(&output.stdout).trim().to_owned(),
        Err(error) => return Some(format!("unknown ({error})")),
    };
    let is_pinned = version.strip_prefix("rustc ").is_some_and(|number| number.starts_with(PINNED));
    (!is_pinned).then_some(version)
}
