//! The state that the requests of an inspector share.

use crate::conversation::SharedModel;
use crate::sessions::OpenSessions;
use crate::spans::SpanLog;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tool_core::trace::Collector;
use tool_core::{CancellationToken, Runtime};

/// The calls and replies that may run at once.
pub(crate) const MAX_CALLS: usize = 32;
/// The event streams that may be open at once.
pub(crate) const MAX_STREAMS: usize = 8;

pub(crate) struct InspectorState {
    pub(crate) runtime: Runtime,
    /// The collector of the page's calls. It keeps no spans; its sink is `spans`.
    pub(crate) collector: Collector,
    pub(crate) spans: SpanLog,
    pub(crate) sessions: OpenSessions,
    pub(crate) model: Option<SharedModel>,
    /// True if there are no bare calls.
    pub(crate) sessions_only: bool,
    pub(crate) shutdown: CancellationToken,
    calls: Arc<Semaphore>,
    streams: Arc<Semaphore>,
    last_call: AtomicU64,
}

impl InspectorState {
    pub(crate) fn new(
        runtime: Runtime,
        collector: Collector,
        spans: SpanLog,
        shutdown: CancellationToken,
    ) -> Self {
        Self {
            runtime,
            collector,
            spans,
            sessions: OpenSessions::default(),
            model: None,
            sessions_only: false,
            shutdown,
            calls: Arc::new(Semaphore::new(MAX_CALLS)),
            streams: Arc::new(Semaphore::new(MAX_STREAMS)),
            last_call: AtomicU64::new(0),
        }
    }

    /// Takes the place of a call, if one is free.
    pub(crate) fn call_permit(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.calls).try_acquire_owned().ok()
    }

    /// Takes the place of an event stream, if one is free.
    pub(crate) fn stream_permit(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.streams).try_acquire_owned().ok()
    }

    /// Returns a new id of a call.
    pub(crate) fn next_call_id(&self) -> String {
        format!(
            "inspector_{}",
            self.last_call.fetch_add(1, Ordering::Relaxed) + 1
        )
    }
}
