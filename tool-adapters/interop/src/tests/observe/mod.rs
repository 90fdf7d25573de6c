//! Spans for the model calls of other clients, against a local server.

mod genai;
mod openai;
mod rig;
mod server;

use tool_core::trace::{Collector, Cost, ModelUsage, Pricing, SpanKind, SpanRecord, SpanStatus};

/// Prices each token at a millionth of a dollar.
struct MicroPricing;

impl Pricing for MicroPricing {
    fn price(&self, used: &ModelUsage) -> Option<Cost> {
        Some(Cost::micros(used.usage.total()))
    }
}

fn collector() -> Collector {
    Collector::builder().pricing(MicroPricing).build()
}

/// What the span of a model call shows.
#[derive(Debug, PartialEq)]
struct SeenCall {
    label: String,
    status: SpanStatus,
    /// The kind of the error.
    error: Option<String>,
    /// The tokens read and written.
    tokens: (u64, u64),
    cost: Cost,
    /// The model that the answer names.
    model: Option<String>,
    /// The provider, which the address of the test's server does not tell.
    provider: Option<String>,
}

impl SeenCall {
    /// A call of `gpt-5` that used 9 tokens and wrote 2.
    fn complete() -> Self {
        Self {
            label: "llm:gpt-5".to_owned(),
            status: SpanStatus::Ok,
            error: None,
            tokens: (9, 2),
            cost: Cost::micros(11),
            model: Some("gpt-5-2025".to_owned()),
            provider: None,
        }
    }

    fn of(span: &SpanRecord) -> Self {
        let used = span.spent().first().map(|entry| &entry.used);
        let usage = used.map(|used| used.usage).unwrap_or_default();
        Self {
            label: span.label(),
            status: span.status(),
            error: span.error().map(|error| error.kind.to_owned()),
            tokens: (usage.input, usage.output),
            cost: span.own_cost(),
            model: used.map(|used| used.model.to_string()),
            provider: used.and_then(|used| Some(used.provider.as_ref()?.to_string())),
        }
    }
}

/// Returns the spans of model calls, in the order in which they ended.
fn seen(collector: &Collector) -> Vec<SeenCall> {
    let report = collector.report();
    let calls = report.spans().iter();
    calls
        .filter(|span| span.kind() == SpanKind::Llm)
        .map(SeenCall::of)
        .collect()
}

/// Waits until the only span of a model call has ended.
async fn seen_once_ended(collector: &Collector) -> SeenCall {
    let waiting = async {
        while seen(collector).is_empty() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(10), waiting)
        .await
        .expect("the span ends");
    let mut calls = seen(collector);
    assert_eq!(calls.len(), 1, "{calls:?}");
    calls.remove(0)
}
