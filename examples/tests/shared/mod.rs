//! Runs an example with cargo.

mod cargo;

use cargo::cargo;
use std::io::Write;
use std::path::Path;
use std::process::{Output, Stdio};

/// Returns the root of the workspace, from which cargo finds every example.
fn workspace() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package
        .ancestors()
        .find(|folder| folder.join("Cargo.lock").exists())
        .unwrap()
}

/// Returns the features with which this test was built, so that cargo builds nothing again.
#[allow(
    unexpected_cfgs,
    reason = "each package of examples has one of the two features"
)]
fn features() -> &'static [&'static str] {
    if cfg!(any(feature = "interop", feature = "all")) {
        &["--all-features"]
    } else {
        &[]
    }
}

/// Runs `cargo run --example NAME -- ARGUMENTS` with `input` on standard input.
pub(crate) fn run(
    example: &str,
    arguments: &[&str],
    settings: &[(&str, &str)],
    input: &str,
) -> Output {
    let mut child = cargo()
        .args(["run", "--quiet", "--example", example])
        .args(features())
        .arg("--")
        .args(arguments)
        .current_dir(workspace())
        .env_remove("GOOGLE_CALENDAR_BASE_URL")
        .env_remove("GOOGLE_CALENDAR_TOKEN")
        .env_remove("CHAT_MODEL")
        .env_remove("VOICE_MODEL")
        .envs(settings.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // An example without input may have closed it.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}
