//! The server that `REDIS_URL` names, and stores on it that no two tests share.

use std::io::Write;
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use std::{env, process};

/// The server, where there is one to test with. In continuous integration there has to be.
pub(crate) fn url() -> Option<String> {
    static SAID: Once = Once::new();
    let url = env::var("REDIS_URL").ok().filter(|url| !url.is_empty());
    if url.is_none() {
        let says = "REDIS_URL is not set: the Redis conformance suite did not run";
        assert!(env::var("CI").map_or(true, |ci| ci != "true"), "{says}");
        // Past the harness, which shows only what failed.
        SAID.call_once(|| _ = writeln!(std::io::stderr(), "{says}"));
    }
    url
}

/// Returns an unused prefix.
pub(crate) fn prefix() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let since = std::time::UNIX_EPOCH.elapsed().unwrap_or(Duration::ZERO).as_nanos();
    format!("test-{}-{since}-{}", process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}
