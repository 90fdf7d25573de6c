//! The histograms of durations and tokens.

use crate::telemetry::otel::spans::{
    AGENT, ERROR_TYPE, OPERATION, PROVIDER, REQUEST_MODEL, RESPONSE_MODEL, TOOL, TOOL_TYPE, error_type, provider,
};
use crate::transport::sanitize::escape_control;
use opentelemetry::metrics::{Histogram, Meter};
use opentelemetry::{KeyValue, Value};
use tool_core::trace::{CostEntry, ParentSpan, SpanKind, SpanRecord};

/// The bucket bounds of durations in seconds: powers of two.
const DURATION_BOUNDS: [f64; 14] =
    [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];

/// The bucket bounds of token counts: powers of four.
const TOKEN_BOUNDS: [f64; 14] = [
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
    tool_duration: Histogram<f64>,
    model_duration: Histogram<f64>,
    tokens: Histogram<u64>,
}

impl Instruments {
    pub(crate) fn new(meter: &Meter) -> Self {
        let duration = |name: &'static str, description: &'static str| {
            let histogram = meter.f64_histogram(name).with_unit("s").with_description(description);
            histogram.with_boundaries(DURATION_BOUNDS.to_vec()).build()
        };
        let tokens = meter.u64_histogram("gen_ai.client.token.usage").with_unit("{token}");
        Self {
            tool_duration: duration("gen_ai.execute_tool.duration", "The duration of a single tool execution."),
            model_duration: duration("gen_ai.client.operation.duration", "GenAI operation duration."),
            tokens: tokens
                .with_description("Number of input and output tokens used.")
                .with_boundaries(TOKEN_BOUNDS.to_vec())
                .build(),
        }
    }

    /// Records a span that has ended.
    pub(crate) fn record(&self, span: &SpanRecord, parent: &ParentSpan<'_>) {
        let seconds = span.duration().as_secs_f64();
        let error = error_type(span).map(|kind| KeyValue::new(ERROR_TYPE, kind));
        match span.kind() {
            SpanKind::Tool => {
                let mut attributes = vec![text(TOOL, span.name()), KeyValue::new(TOOL_TYPE, "function")];
                attributes.extend(parent.agent().map(|agent| text(AGENT, agent)));
                attributes.extend(error);
                self.tool_duration.record(seconds, &attributes);
            }
            SpanKind::Llm => {
                let mut attributes = model_attributes(span, span.spent().last());
                attributes.extend(error);
                self.model_duration.record(seconds, &attributes);
            }
            _ => {}
        }
        for entry in span.spent().iter().filter(|entry| !entry.used.usage.is_empty()) {
            let usage = entry.used.usage;
            for (kind, tokens) in [("input", usage.input), ("output", usage.output)] {
                let mut attributes = model_attributes(span, Some(entry));
                attributes.push(KeyValue::new("gen_ai.token.type", kind));
                self.tokens.record(tokens, &attributes);
            }
        }
    }
}

fn text(key: &'static str, text: &str) -> KeyValue {
    KeyValue::new(key, Value::from(escape_control(text).into_owned()))
}

/// Returns the attributes of a model: of an `llm` span, or of a use that another span recorded.
fn model_attributes(span: &SpanRecord, entry: Option<&CostEntry>) -> Vec<KeyValue> {
    let mut attributes = vec![KeyValue::new(OPERATION, "chat"), KeyValue::new(PROVIDER, provider(span, entry))];
    if span.kind() == SpanKind::Llm {
        attributes.push(text(REQUEST_MODEL, span.name()));
    }
    attributes.extend(entry.map(|entry| text(RESPONSE_MODEL, &entry.used.model)));
    attributes
}
