//! The requests over HTTP whose answers are not given to their clients yet.

use axum::body::Body;
use axum::http::header;
use axum::response::Response;
use futures_util::StreamExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Counts requests until their answers have been sent. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct OpenAnswers(Arc<AtomicUsize>);

/// Counts a request until it is dropped.
pub(crate) struct OpenAnswer(OpenAnswers);

/// The longest wait for answers that are on their way.
const LAST_ANSWERS: Duration = Duration::from_secs(1);

/// The time between two looks at the count.
const LOOK: Duration = Duration::from_millis(5);

impl OpenAnswers {
    pub(crate) fn begin(&self) -> OpenAnswer {
        self.0.fetch_add(1, Ordering::Relaxed);
        OpenAnswer(self.clone())
    }

    /// Waits until all answers have been sent, or for [`LAST_ANSWERS`].
    pub(crate) async fn sent(&self) {
        let began = Instant::now();
        while self.0.load(Ordering::Relaxed) > 0 && began.elapsed() < LAST_ANSWERS {
            sleep(LOOK).await;
        }
    }
}

impl OpenAnswer {
    /// Counts the request until the last event of its answer. Another answer is whole when its
    /// connection gets it, and a connection that is shut down sends it.
    pub(crate) fn until_sent(self, answer: Response) -> Response {
        let kind = answer.headers().get(header::CONTENT_TYPE);
        if kind.is_none_or(|kind| !kind.as_bytes().starts_with(b"text/event-stream")) {
            return answer;
        }
        answer.map(|body| {
            let events = body.into_data_stream();
            Body::from_stream(events.map(move |event| {
                let _open = &self;
                event
            }))
        })
    }
}

impl Drop for OpenAnswer {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}
