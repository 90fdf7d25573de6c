//! The common parts of the journals that processes share.

use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::time::Duration;
use tool_core::session::{JournalError, StoreError};

/// Default time after which a process that gives no sign of life counts as killed.
const LEASE: Duration = Duration::from_secs(10);
/// The shortest such time.
const SHORTEST_LEASE: Duration = Duration::from_millis(100);
/// Default age at which calls are removed.
const KEEP: Duration = Duration::from_secs(7 * 24 * 3_600);

/// The options of a journal that processes share.
#[derive(Clone, Debug)]
pub(crate) struct JournalOptions {
    /// Distinguishes this process's journal from all others.
    pub(crate) process: String,
    pub(crate) lease: Duration,
    pub(crate) keep: Duration,
}

impl Default for JournalOptions {
    /// # Panics
    ///
    /// Panics if the operating system has no source of randomness.
    fn default() -> Self {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
        Self {
            process: hex(&bytes),
            lease: LEASE,
            keep: KEEP,
        }
    }
}

impl JournalOptions {
    pub(crate) fn set_lease(&mut self, lease: Duration) {
        self.lease = lease.max(SHORTEST_LEASE);
    }
}

/// Returns the digest of an id, which has 64 characters however long the id is.
pub(crate) fn digest(id: &str) -> String {
    hex(&Sha256::digest(id.as_bytes()))
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        _ = write!(text, "{byte:02x}");
    }
    text
}

/// Returns the error of a journal in a store.
pub(crate) fn journal_error(error: StoreError) -> JournalError {
    JournalError::with_source(error.to_string(), error)
}
