//! The results of `idempotent` tools, which answer later equal calls.

use crate::call::ToolResponse;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::time::Duration;
use tokio::time::Instant;

/// The results of `idempotent` tools, by the digest of the call.
#[derive(Default)]
pub(crate) struct ResultCache(Mutex<VecDeque<(String, Instant, ToolResponse)>>);

/// The results that a session caches. Past this number, the oldest is removed.
const MAX_RESULTS: usize = 32;

impl ResultCache {
    /// Returns the result of an equal call that is younger than `ttl`.
    pub(crate) fn get(&self, digest: &str, ttl: Duration) -> Option<ToolResponse> {
        let mut results = self.0.lock();
        results.retain(|(_, since, _)| since.elapsed() < ttl);
        let (_, _, response) = results.iter().find(|(key, ..)| key == digest)?;
        Some(response.clone())
    }

    /// Adds a result.
    pub(crate) fn insert(&self, digest: String, response: ToolResponse) {
        let mut results = self.0.lock();
        if results.len() == MAX_RESULTS {
            results.pop_front();
        }
        results.push_back((digest, Instant::now(), response));
    }
}
