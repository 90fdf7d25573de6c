//! The newest spans and the running ones, as the page shows them.

use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::UNIX_EPOCH;
use tokio::sync::watch;
use tool_adapters_http::debug_only;
use tool_core::trace::{Cost, CostEntry, SpanId, SpanRecord, SpanSink, TraceId};

/// The spans that are kept.
const MAX_SPANS: usize = 10_000;
/// The running spans that are kept. Others are shown when they end.
const MAX_RUNNING: usize = 200;
/// The newest progress updates of a running span that are kept.
const MAX_UPDATES: usize = 10;
/// The spans of one event.
const MAX_BATCH: usize = 500;

/// A bounded log of the newest ended spans and of the running ones, which an [`Inspector`](crate::Inspector) shows. Cheap to clone; clones
/// share the spans.
///
/// ```
/// # use tool_adapters::inspector::Inspector;
/// # use tool_core::{Runtime, ToolContext, trace::Collector};
/// # let runtime = Runtime::builder(ToolContext::builder().build()?).build()?;
/// let log = Inspector::new(&runtime).span_log();
/// Collector::builder().sink(log).build().install();
/// # Ok::<(), tool_core::RegistryErrors>(())
/// ```
#[derive(Clone, Default)]
pub struct SpanLog(Arc<SharedLog>);

struct SharedLog {
    kept: Mutex<KeptSpans>,
    /// The number of the last span.
    last: watch::Sender<u64>,
}

impl Default for SharedLog {
    fn default() -> Self {
        Self {
            kept: Mutex::default(),
            last: watch::Sender::new(0),
        }
    }
}

#[derive(Default)]
struct KeptSpans {
    spans: VecDeque<SpanRecord>,
    /// The number of all spans so far, which is the number of the last one.
    seen: u64,
    /// The running spans, by the number of their opening.
    running: BTreeMap<u64, RunningSpan>,
    numbers: HashMap<(TraceId, SpanId), u64>,
    opened: u64,
}

struct RunningSpan {
    span: SpanRecord,
    updates: VecDeque<(String, Option<f64>)>,
}

debug_only!(SpanLog, |this| seen: this.0.kept.lock().seen);

impl SpanSink for SpanLog {
    fn ended(&self, span: &SpanRecord) {
        let mut kept = self.0.kept.lock();
        let oldest = if kept.spans.len() < MAX_SPANS {
            None
        } else {
            kept.spans.pop_front()
        };
        kept.spans.push_back(span.clone());
        kept.seen += 1;
        let number = kept.numbers.remove(&(span.trace_id(), span.span_id()));
        number.and_then(|number| kept.running.remove(&number));
        let seen = kept.seen;
        drop(kept);
        // Freed outside of the lock.
        drop(oldest);
        self.0.last.send_replace(seen);
    }

    fn watches_open(&self) -> bool {
        true
    }

    fn opened(&self, span: &SpanRecord) {
        let mut kept = self.0.kept.lock();
        if kept.running.len() < MAX_RUNNING {
            kept.opened += 1;
            let number = kept.opened;
            kept.numbers
                .insert((span.trace_id(), span.span_id()), number);
            kept.running.insert(
                number,
                RunningSpan {
                    span: span.clone(),
                    updates: VecDeque::new(),
                },
            );
        }
        drop(kept);
        self.0.last.send_modify(|_| ());
    }

    fn progressed(&self, trace: TraceId, span: SpanId, message: &str, fraction: Option<f64>) {
        let mut kept = self.0.kept.lock();
        let number = kept.numbers.get(&(trace, span)).copied();
        if let Some(running) = number.and_then(|number| kept.running.get_mut(&number)) {
            if running.updates.len() == MAX_UPDATES {
                running.updates.pop_front();
            }
            running.updates.push_back((message.to_owned(), fraction));
        }
        drop(kept);
        self.0.last.send_modify(|_| ());
    }
}

/// Spans that follow each other.
pub(crate) struct SpanBatch {
    /// The number of the last one.
    pub(crate) last: u64,
    /// The spans before the batch that were lost.
    pub(crate) lost: u64,
    pub(crate) spans: Vec<SpanRecord>,
}

impl SpanLog {
    /// Returns the running spans, in the order in which they opened.
    pub(crate) fn running_json(&self) -> Value {
        self.0
            .kept
            .lock()
            .running
            .values()
            .map(RunningSpan::json)
            .collect()
    }

    /// Returns a receiver that wakes its reader after each span that opens or ends, and after each
    /// progress update.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.0.last.subscribe()
    }

    /// Returns the spans after the one with this number, at most [`MAX_BATCH`].
    pub(crate) fn after(&self, number: u64) -> SpanBatch {
        let kept = self.0.kept.lock();
        let first = kept.seen - kept.spans.len() as u64;
        // A page that was opened before the program started again asks for spans that do not exist
        // yet.
        let from = if number > kept.seen {
            first
        } else {
            number.max(first)
        };
        let skip = usize::try_from(from - first).unwrap_or(usize::MAX);
        let spans = kept
            .spans
            .iter()
            .skip(skip)
            .take(MAX_BATCH)
            .cloned()
            .collect::<Vec<_>>();
        SpanBatch {
            last: from + spans.len() as u64,
            lost: from.saturating_sub(number),
            spans,
        }
    }
}

impl RunningSpan {
    /// Returns the span as JSON, without a duration and a status.
    fn json(&self) -> Value {
        let mut members = span_json(&self.span);
        let update = |(message, fraction): &(String, Option<f64>)| json!({"message": message, "fraction": fraction});
        if let Value::Object(members) = &mut members {
            members.remove("durationMs");
            members.insert("status".to_owned(), "running".into());
            members.insert(
                "updates".to_owned(),
                self.updates.iter().map(update).collect(),
            );
        }
        members
    }
}

/// Returns a span as JSON.
pub(crate) fn span_json(span: &SpanRecord) -> Value {
    let start = span
        .started()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let attributes = span
        .attributes()
        .map(|(key, value)| (key.to_owned(), value.clone()))
        .collect::<Map<_, _>>();
    let mut members = json!({
        "trace": span.trace_id(),
        "id": span.span_id(),
        "parent": span.parent(),
        "kind": span.kind(),
        "name": span.name(),
        "status": span.status(),
        "startMs": start.as_secs_f64() * 1e3,
        "durationMs": span.duration().as_secs_f64() * 1e3,
    });
    if let Value::Object(members) = &mut members {
        let mut add = |name: &str, value: Option<Value>| {
            members.extend(value.map(|value| (name.to_owned(), value)));
        };
        add("error", span.error().map(|error| json!(error)));
        add("callId", span.call_id().map(Value::from));
        let costs = span.spent();
        add(
            "cost",
            (!costs.is_empty()).then(|| costs.iter().map(cost_json).collect()),
        );
        add(
            "attributes",
            (!attributes.is_empty()).then(|| attributes.into()),
        );
    }
    members
}

fn cost_json(entry: &CostEntry) -> Value {
    json!({
        "model": entry.used.model,
        "provider": entry.used.provider,
        "dollars": entry.cost.map(Cost::decimal),
        "usage": entry.used.usage,
        "times": entry.times,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tool_core::trace::{Collector, SpanHandle, SpanKind, in_scope};

    fn filled(spans: usize) -> SpanLog {
        let log = SpanLog::default();
        let collector = Collector::builder().keep(0).sink(log.clone()).build();
        collector.run_sync(|| (0..spans).for_each(|_| in_scope(SpanKind::Section, "part", || ())));
        log
    }

    #[test]
    fn keeps_the_newest_spans_only() {
        let log = filled(MAX_SPANS + 25);
        let batch = log.after(0);
        assert_eq!(
            (batch.lost, batch.last, batch.spans.len()),
            (25, 25 + MAX_BATCH as u64, MAX_BATCH)
        );
        assert_eq!(log.0.kept.lock().spans.len(), MAX_SPANS);
    }

    #[test]
    fn batches_follow_each_other_to_the_end() {
        let log = filled(1_200);
        let mut number = 0;
        let mut sizes = Vec::new();
        loop {
            let batch = log.after(number);
            number = batch.last;
            sizes.push(batch.spans.len());
            if batch.spans.is_empty() {
                break;
            }
        }
        assert_eq!((number, sizes), (1_200, vec![500, 500, 200, 0]));
    }

    #[test]
    fn a_number_from_an_earlier_program_starts_again() {
        assert_eq!(filled(3).after(900).spans.len(), 3);
    }

    #[test]
    fn running_spans_are_bounded_and_leave_when_they_end() {
        let log = SpanLog::default();
        let collector = Collector::builder().sink(log.clone()).build();
        let open = || collector.run_sync(|| SpanHandle::open(SpanKind::Section, "part"));
        let handles = (0..MAX_RUNNING + 50).map(|_| open()).collect::<Vec<_>>();
        assert_eq!(
            log.running_json().as_array().map(Vec::len),
            Some(MAX_RUNNING)
        );
        handles.into_iter().for_each(SpanHandle::end);
        let kept = log.0.kept.lock();
        assert_eq!(
            (kept.running.len(), kept.numbers.len(), kept.seen),
            (0, 0, 250)
        );
    }

    #[test]
    fn a_span_has_its_parent_and_its_error() {
        let log = SpanLog::default();
        let collector = Collector::builder().sink(log.clone()).build();
        collector.run_sync(|| {
            in_scope(SpanKind::Agent, "planner", || {
                in_scope(SpanKind::Section, "part", || ());
            });
        });
        let spans = log.after(0).spans.iter().map(span_json).collect::<Vec<_>>();
        assert_eq!(
            (spans[0]["name"].as_str(), spans[1]["name"].as_str()),
            (Some("part"), Some("planner"))
        );
        assert_eq!(spans[0]["parent"], spans[1]["id"]);
        assert_eq!(spans[0]["status"], "ok");
    }
}
