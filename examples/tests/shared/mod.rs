//! Runs an example with cargo.

use std::io::Write;
use std::process::{Command, Output, Stdio};

/// Runs `cargo run --example NAME -- ARGUMENTS` with `input` on standard input.
pub(crate) fn run(example: &str, arguments: &[&str], settings: &[(&str, &str)], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--package", "examples", "--example", example, "--"])
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
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
