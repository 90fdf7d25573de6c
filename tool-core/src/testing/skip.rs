//! Tests of services that are not there.

use std::fmt::Display;
use std::io::{self, Write};

/// Prints that the running test is skipped, with the reason, past the test harness, which hides the
/// output of a test that passes.
///
/// # Panics
///
/// Panics where `CI=true`, because there every test must run.
///
/// ```
/// # fn redis() -> Option<String> { None }
/// // In a test:
/// # fn test() {
/// let Some(redis) = redis() else { return tool_core::testing::skip("REDIS_URL names no server") };
/// # drop(redis);
/// # }
/// ```
#[track_caller]
pub fn skip(reason: impl Display) {
    let is_ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
    assert!(!is_ci, "{reason}; with CI=true every test has to run");
    let thread = std::thread::current();
    // One write, so that the lines of tests that run at the same time do not mix.
    let line = format!("skipped {}: {reason}\n", thread.name().unwrap_or("a test"));
    _ = io::stderr().write_all(line.as_bytes());
}
