//! The histograms.

use crate::telemetry::otel::export;
use crate::telemetry::otel::export::{error_type, provider};
use crate::transport::sanitize::escape_control;
use opentelemetry::metrics::{Histogram, Meter};
use opentelemetry::{KeyValue, Value};
use tool_core::trace::{CostEntry, ParentSpan, SpanKind, SpanRecord};

/// Where the buckets of durations end, in seconds: each at twice the one before.
const SECONDS: [f64; 14] = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];

/// Where the buckets of tokens end: each at four times the one before.
const TOKENS: [f64; 14] = [
    1.0,
    4.0,
    16.0,
    64.0,
    256.0,
    1_024.0,
    4_096.0,
    16_384.0,
    65_536.0,
    262_144.0,
    1_048_576.0,
    4_194_304.0,
    16_777_216.0,
    67_108_864.0,
];

pub(crate) struct Instruments {
    tool: Histogram<f64>,
    model: Histogram<f64>,
    tokens: Histogram<u64>,
}

impl Instruments {
    pub(crate) fn new(meter: &Meter) -> Self {
        let duration = |name: &'static str, description: &'static str| {
            let histogram = meter.f64_histogram(name).with_unit("s").with_description(description);
            histogram.with_boundaries(SECONDS.to_vec()).build()
        };
        let tokens = meter.u64_histogram(export::TOKENS).with_unit("{token}");
        Self {
            tool: duration(export::TOOL_DURATION, "The duration of a single tool execution."),
            model: duration(export::MODEL_DURATION, "GenAI operation duration."),
            tokens: tokens
                .with_description("Number of input and output tokens used.")
                .with_boundaries(TOKENS.to_vec())
                .build(),
        }
    }

    /// Counts a span that has ended.
    pub(crate) fn record(&self, span: &SpanRecord, around: &ParentSpan<'_>) {
        let seconds = span.duration().as_secs_f64();
        match span.kind() {
            SpanKind::Tool => self.tool.record(seconds, &of_tool(span, around)),
            SpanKind::Llm => {
                let answer = span.spent().last();
                self.model.record(seconds, &with_error(span, of_model(span, answer)));
            }
            _ => {}
        }
        for spent in span.spent().iter().filter(|spent| !spent.used.usage.is_empty()) {
            let usage = spent.used.usage;
            for (kind, tokens) in [("input", usage.input), ("output", usage.output)] {
                let mut of_model = of_model(span, Some(spent));
                of_model.push(KeyValue::new(export::TOKEN_TYPE, kind));
                self.tokens.record(tokens, &of_model);
            }
        }
    }
}

fn text(key: &'static str, text: &str) -> KeyValue {
    KeyValue::new(key, Value::from(escape_control(text).into_owned()))
}

fn with_error(span: &SpanRecord, mut attributes: Vec<KeyValue>) -> Vec<KeyValue> {
    attributes.extend(error_type(span).map(|kind| KeyValue::new(export::ERROR, kind)));
    attributes
}

fn of_tool(span: &SpanRecord, around: &ParentSpan<'_>) -> Vec<KeyValue> {
    let mut attributes = vec![text(export::TOOL, span.name()), KeyValue::new(export::TOOL_TYPE, "function")];
    attributes.extend(around.agent().map(|agent| text(export::AGENT, agent)));
    with_error(span, attributes)
}

/// Which model: of a span that asks one, or that paid for what somebody else asked.
fn of_model(span: &SpanRecord, spent: Option<&CostEntry>) -> Vec<KeyValue> {
    let mut attributes =
        vec![KeyValue::new(export::OPERATION, "chat"), KeyValue::new(export::PROVIDER, provider(span, spent))];
    if span.kind() == SpanKind::Llm {
        attributes.push(text(export::REQUEST_MODEL, span.name()));
    }
    attributes.extend(spent.map(|spent| text(export::RESPONSE_MODEL, &spent.used.model)));
    attributes
}
