//! The stream of events that keeps the page up to date: ended and running spans, metrics, sessions
//! and approvals.

use crate::spans::span_json;
use crate::state::InspectorState;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::unfold;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::{Instant, sleep, sleep_until};
use tool_adapters_telemetry::prometheus::costs_json;

/// The time between two events with metrics.
const METRICS_INTERVAL: Duration = Duration::from_secs(1);
/// The time for which spans are collected, so that many spans are few events.
const BATCH_TIME: Duration = Duration::from_millis(100);

/// One page that reads events.
struct EventReader {
    state: Arc<InspectorState>,
    /// The place among the streams, until the page is gone.
    _permit: OwnedSemaphorePermit,
    /// The number of the last span that was sent.
    last: u64,
    spans: watch::Receiver<u64>,
    sessions: watch::Receiver<u64>,
    approvals: watch::Receiver<u64>,
    /// The sessions and approvals that were sent last.
    overview: Value,
    /// The running spans that were sent last.
    running: Value,
    next_metrics: Instant,
    /// The metrics that were sent last.
    metrics: Value,
}

/// Returns the stream of events from the span after `last` on.
pub(crate) fn stream(
    state: Arc<InspectorState>,
    permit: OwnedSemaphorePermit,
    last: u64,
) -> Response {
    let reader = EventReader {
        _permit: permit,
        last,
        spans: state.spans.changes(),
        sessions: state.sessions.changes(),
        approvals: state.runtime.approval_requests(),
        overview: Value::Null,
        running: json!([]),
        next_metrics: Instant::now(),
        metrics: Value::Null,
        state,
    };
    let events = unfold(reader, async |mut reader| {
        let event = reader.next().await?;
        Some((Ok::<_, Infallible>(event), reader))
    });
    Sse::new(events)
        .keep_alive(KeepAlive::default())
        .into_response()
}

impl EventReader {
    /// Waits for the next event. Returns `None` at the shutdown.
    async fn next(&mut self) -> Option<Event> {
        loop {
            let is_due = Instant::now() >= self.next_metrics;
            if (is_due || has_changed(&mut self.approvals) | has_changed(&mut self.sessions))
                && let Some(event) = self.next_overview().await
            {
                return Some(event);
            }
            if let Some(event) = self.next_spans().or_else(|| self.next_running()) {
                return Some(event);
            }
            if is_due {
                self.next_metrics = Instant::now() + METRICS_INTERVAL;
                let metrics = metrics_json(&self.state);
                if metrics != self.metrics {
                    self.metrics.clone_from(&metrics);
                    return Some(event("metrics", &metrics));
                }
            }
            tokio::select! {
                _ = self.spans.changed() => sleep(BATCH_TIME).await,
                _ = self.approvals.changed() => self.approvals.mark_changed(),
                _ = self.sessions.changed() => self.sessions.mark_changed(),
                () = sleep_until(self.next_metrics) => {}
                () = self.state.shutdown.cancelled() => return None,
            }
        }
    }

    /// Returns the sessions and approvals, if they are others than before. Calls are decided and
    /// expire elsewhere too, so this is asked for at every interval.
    async fn next_overview(&mut self) -> Option<Event> {
        // The store may be down for a moment.
        let approvals = self.state.approvals_json().await.ok()?;
        let overview = json!({"approvals": approvals, "sessions": self.state.sessions.list_json()});
        (overview != self.overview).then(|| {
            self.overview.clone_from(&overview);
            event("sessions", &overview)
        })
    }

    /// Returns the running spans, if they are others than before.
    fn next_running(&mut self) -> Option<Event> {
        let running = self.state.spans.running_json();
        (running != self.running).then(|| {
            self.running.clone_from(&running);
            let now = UNIX_EPOCH.elapsed().unwrap_or_default().as_secs_f64() * 1e3;
            event("running", &json!({"nowMs": now, "spans": running}))
        })
    }

    fn next_spans(&mut self) -> Option<Event> {
        let batch = self.state.spans.after(self.last);
        self.last = batch.last;
        if batch.spans.is_empty() {
            return None;
        }
        let spans = batch.spans.iter().map(span_json).collect::<Vec<_>>();
        Some(
            event("spans", &json!({"lost": batch.lost, "spans": spans})).id(batch.last.to_string()),
        )
    }
}

fn has_changed(receiver: &mut watch::Receiver<u64>) -> bool {
    let changed = receiver.has_changed().unwrap_or(false);
    receiver.mark_unchanged();
    changed
}

fn event(name: &str, data: &Value) -> Event {
    Event::default().event(name).data(data.to_string())
}

/// Returns the metrics of the runtime and the costs of the page's calls.
pub(crate) fn metrics_json(state: &InspectorState) -> Value {
    let mut document = serde_json::to_value(state.runtime.metrics()).unwrap_or_default();
    if let Value::Object(members) = &mut document {
        members.insert("cost".to_owned(), costs_json(&state.collector.totals()));
    }
    document
}
