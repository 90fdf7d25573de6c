//! The results of retrievals, which answer later equal calls.

use crate::call::ToolResponse;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::time::Duration;
use tokio::time::Instant;

/// The results of retrievals, oldest first.
#[derive(Default)]
pub(crate) struct ResultCache(Mutex<VecDeque<CachedResult>>);

struct CachedResult {
    /// The digest of the call.
    digest: String,
    since: Instant,
    response: ToolResponse,
}

/// The results that a session caches. Past this number, the oldest is removed.
const MAX_RESULTS: usize = 32;

/// The most bytes of a result that is cached, with its content parts.
const MAX_BYTES: usize = 64 * 1024;

impl ResultCache {
    /// Returns the result of an equal call that is younger than `ttl`.
    pub(crate) fn get(&self, digest: &str, ttl: Duration) -> Option<ToolResponse> {
        let mut results = self.0.lock();
        remove_expired(&mut results, ttl);
        let result = results.iter().find(|result| result.digest == digest)?;
        Some(result.response.clone())
    }

    /// Adds a result, unless it is too large.
    pub(crate) fn insert(&self, digest: String, response: &ToolResponse, ttl: Duration) {
        if response.result_bytes() > MAX_BYTES {
            return;
        }
        let result = CachedResult {
            digest,
            since: Instant::now(),
            response: response.clone(),
        };

        let mut results = self.0.lock();
        remove_expired(&mut results, ttl);
        if results.len() == MAX_RESULTS {
            results.pop_front();
        }
        results.push_back(result);
    }
}

fn remove_expired(results: &mut VecDeque<CachedResult>, ttl: Duration) {
    results.retain(|result| result.since.elapsed() < ttl);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::{Content, ToolCall, ToolOutput};
    use crate::time::CallInstant;

    const MINUTE: Duration = Duration::from_secs(60);

    fn result(output: ToolOutput) -> ToolResponse {
        let call = ToolCall::new("c", "look_up", "{}");
        ToolResponse::of_call(&call, output, CallInstant::now())
    }

    #[tokio::test(start_paused = true)]
    async fn expired_results_take_no_room() {
        let cache = ResultCache::default();
        for at in 0..MAX_RESULTS {
            cache.insert(at.to_string(), &result(ToolOutput::new(at)), MINUTE);
        }
        tokio::time::advance(MINUTE).await;
        cache.insert("new".to_owned(), &result(ToolOutput::new("new")), MINUTE);
        assert_eq!(cache.0.lock().len(), 1);
    }

    #[test]
    fn large_results_are_not_cached() {
        let cache = ResultCache::default();
        let large = "x".repeat(MAX_BYTES + 1);
        let data = ToolOutput::new(&large);
        let parts = ToolOutput::content([Content::text("a picture"), Content::text(large)]);
        for output in [data, parts] {
            cache.insert("c".to_owned(), &result(output), MINUTE);
            assert!(cache.get("c", MINUTE).is_none());
        }
        cache.insert("c".to_owned(), &result(ToolOutput::new("small")), MINUTE);
        assert!(cache.get("c", MINUTE).is_some());
    }
}
