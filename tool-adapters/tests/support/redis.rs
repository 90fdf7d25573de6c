//! The server that `REDIS_URL` names, and stores on it that no two tests share.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use std::{env, process};

/// Returns the server's URL. Skips the test without one.
pub(crate) fn url() -> Option<String> {
    let url = env::var("REDIS_URL").ok().filter(|url| !url.is_empty());
    if url.is_none() {
        tool_core::testing::skip("REDIS_URL names no server");
    }
    url
}

/// Returns an unused prefix.
pub(crate) fn prefix() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let since = std::time::UNIX_EPOCH
        .elapsed()
        .unwrap_or(Duration::ZERO)
        .as_nanos();
    format!(
        "test-{}-{since}-{}",
        process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed)
    )
}
