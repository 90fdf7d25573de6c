//! Spans and metrics of the SDK, with OpenTelemetry's names of attributes.

use opentelemetry::metrics::{Histogram, Meter};
use opentelemetry::trace::{
    SpanContext, SpanId, SpanKind as OtelSpanKind, Status, TraceFlags, TraceId, TraceState,
};
use opentelemetry::{Array, InstrumentationScope, KeyValue, StringValue, Value};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};
use tool_adapters_http::sanitize::escape_control;
use tool_adapters_providers::Provider;
use tool_core::trace::{CostEntry, ParentSpan, SpanKind, SpanRecord, SpanStatus, TokenUsage};

// The conventions for generative AI are in development, in
// `open-telemetry/semantic-conventions-genai`. Spans follow its commit `b9449702`, which named
// `cache_write`; metrics follow `004902b8`. Later commits split `gen_ai.client.token.usage` by
// direction, which backends do not read yet. The conventions have no names for the attributes that
// begin with `tool_core`.

pub(crate) const OPERATION: &str = "gen_ai.operation.name";
pub(crate) const PROVIDER: &str = "gen_ai.provider.name";
pub(crate) const AGENT: &str = "gen_ai.agent.name";
pub(crate) const TOOL: &str = "gen_ai.tool.name";
pub(crate) const TOOL_TYPE: &str = "gen_ai.tool.type";
pub(crate) const REQUEST_MODEL: &str = "gen_ai.request.model";
pub(crate) const RESPONSE_MODEL: &str = "gen_ai.response.model";
pub(crate) const ERROR_TYPE: &str = "error.type";

/// Attributes with texts of users, models and tools.
const CONTENT: [&str; 5] = [
    "gen_ai.tool.call.arguments",
    "gen_ai.tool.call.result",
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.system_instructions",
];

/// The value of a required attribute that is not known.
const OTHER: &str = "_OTHER";

/// Converts a span. `content` includes arguments and results of calls.
pub(crate) fn span_data(
    span: &SpanRecord,
    parent: &ParentSpan<'_>,
    content: bool,
    scope: &InstrumentationScope,
) -> SpanData {
    let start_time = span.started();
    SpanData {
        span_context: span_context(span),
        parent_span_id: span
            .parent()
            .map_or(SpanId::INVALID, |id| SpanId::from_bytes(id.to_bytes())),
        parent_span_is_remote: span.is_parent_remote(),
        span_kind: match span.kind() {
            SpanKind::Llm | SpanKind::Http => OtelSpanKind::Client,
            _ => OtelSpanKind::Internal,
        },
        name: name(span).into(),
        start_time,
        end_time: start_time + span.duration(),
        attributes: attributes(span, parent, content),
        dropped_attributes_count: 0,
        events: SpanEvents::default(),
        links: SpanLinks::default(),
        status: status(span),
        instrumentation_scope: scope.clone(),
    }
}

fn span_context(span: &SpanRecord) -> SpanContext {
    let state = span
        .tracestate()
        .and_then(|state| state.parse().ok())
        .unwrap_or(TraceState::NONE);
    let trace = TraceId::from_bytes(span.trace_id().to_bytes());
    // The processor drops spans that are not marked as sampled.
    SpanContext::new(
        trace,
        SpanId::from_bytes(span.span_id().to_bytes()),
        TraceFlags::SAMPLED,
        false,
        state,
    )
}

fn name(span: &SpanRecord) -> String {
    let name = escape_control(span.name());
    match span.kind() {
        SpanKind::Agent => format!("invoke_agent {name}"),
        SpanKind::Tool => format!("execute_tool {name}"),
        SpanKind::Llm => format!("chat {name}"),
        _ => name.into_owned(),
    }
}

/// Returns the status. The conventions leave the status of a successful span unset.
fn status(span: &SpanRecord) -> Status {
    let message = span.error().and_then(|error| error.message.as_deref());
    match error_type(span) {
        None => Status::Unset,
        Some(kind) => Status::error(escape_control(message.unwrap_or(kind)).into_owned()),
    }
}

/// Returns the kind of error of a failed span, which has few values.
pub(crate) fn error_type(span: &SpanRecord) -> Option<&'static str> {
    let kind = span.error().map(|error| error.kind);
    match span.status() {
        SpanStatus::Ok => None,
        SpanStatus::Error => Some(kind.unwrap_or(OTHER)),
        status => Some(status.as_str()),
    }
}

/// Returns OpenTelemetry's name of the provider: of a use, or of the request.
pub(crate) fn provider(span: &SpanRecord, entry: Option<&CostEntry>) -> String {
    let requested = || {
        span.attributes()
            .find(|(key, _)| *key == PROVIDER)
            .and_then(|(_, value)| value.as_str())
    };
    let used = entry.and_then(|entry| entry.used.provider.as_deref());
    escape_control(used.or_else(requested).map_or(OTHER, provider_name)).into_owned()
}

/// Attributes in the order of their first setting.
struct Attributes(Vec<KeyValue>);

impl Attributes {
    /// Sets an attribute, and replaces an earlier value.
    fn set(&mut self, key: &'static str, value: impl Into<Value>) {
        let value = value.into();
        match self.0.iter_mut().find(|known| known.key.as_str() == key) {
            Some(known) => known.value = value,
            None => self.0.push(KeyValue::new(key, value)),
        }
    }

    fn set_text(&mut self, key: &'static str, text: Option<&str>) {
        if let Some(text) = text {
            self.set(key, escape_control(text).into_owned());
        }
    }

    fn set_count(&mut self, key: &'static str, count: u64) {
        self.set(key, i64::try_from(count).unwrap_or(i64::MAX));
    }
}

fn attributes(span: &SpanRecord, parent: &ParentSpan<'_>, content: bool) -> Vec<KeyValue> {
    let mut attributes = Attributes(Vec::with_capacity(12));
    set_kind(span, parent, &mut attributes);
    for (key, value) in span.attributes() {
        if (content || !CONTENT.contains(&key))
            && let Some(value) = convert_value(value)
        {
            attributes.set(key, value);
        }
    }
    if span.kind() == SpanKind::Llm {
        set_response(span, &mut attributes);
    }
    set_cost(span, &mut attributes);
    attributes.set_text(ERROR_TYPE, error_type(span));
    attributes.set_text("tool_core.run_id", span.run_id());
    attributes.set_text("tool_core.customer_id", span.customer_id());
    attributes.0
}

fn set_kind(span: &SpanRecord, parent: &ParentSpan<'_>, attributes: &mut Attributes) {
    match span.kind() {
        SpanKind::Agent => {
            attributes.set(OPERATION, "invoke_agent");
            attributes.set_text(AGENT, Some(span.name()));
        }
        SpanKind::Tool => {
            attributes.set(OPERATION, "execute_tool");
            attributes.set_text(TOOL, Some(span.name()));
            attributes.set(TOOL_TYPE, "function");
            attributes.set_text("gen_ai.tool.call.id", span.call_id());
            attributes.set_text(AGENT, parent.agent());
        }
        SpanKind::Llm => {
            attributes.set(OPERATION, "chat");
            attributes.set_text(REQUEST_MODEL, Some(span.name()));
            attributes.set_text(AGENT, parent.agent());
        }
        _ => {}
    }
}

/// Returns the last response of a model. A service that was paid for inside the span has neither
/// tokens nor an id.
fn last_response(span: &SpanRecord) -> Option<&CostEntry> {
    let mut entries = span.spent().iter().rev();
    entries.find(|entry| !entry.used.usage.is_empty() || entry.used.response_id.is_some())
}

/// Sets the attributes of the last response of a model.
fn set_response(span: &SpanRecord, attributes: &mut Attributes) {
    let entry = last_response(span);
    attributes.set(PROVIDER, provider(span, entry));
    let Some(used) = entry.map(|entry| &entry.used) else {
        return;
    };
    attributes.set_text(RESPONSE_MODEL, Some(&used.model));
    attributes.set_text("gen_ai.response.id", used.response_id.as_deref());
    attributes.set_text("tool_core.service_tier", used.service_tier.as_deref());
    if !used.tool_calls.is_empty() {
        let names = used
            .tool_calls
            .iter()
            .map(|(_, tool)| StringValue::from(escape_control(tool).into_owned()));
        attributes.set(
            "tool_core.tool_calls",
            Value::Array(Array::String(names.collect())),
        );
    }
}

/// Sets the tokens and the cost of the span itself, without those of its children.
fn set_cost(span: &SpanRecord, attributes: &mut Attributes) {
    let usage = span
        .spent()
        .iter()
        .fold(TokenUsage::default(), |sum, entry| sum + entry.used.usage);
    if !usage.is_empty() {
        attributes.set_count("gen_ai.usage.input_tokens", usage.input);
        attributes.set_count("gen_ai.usage.output_tokens", usage.output);
        // Most providers leave these out if they are zero.
        for (key, tokens) in [
            ("gen_ai.usage.cache_read.input_tokens", usage.cached),
            ("gen_ai.usage.cache_write.input_tokens", usage.cache_written),
            ("gen_ai.usage.reasoning.output_tokens", usage.reasoning),
            // Without a convention.
            (
                "tool_core.usage.cache_write_1h.input_tokens",
                usage.cache_written_1h,
            ),
            ("tool_core.usage.audio.input_tokens", usage.input_audio),
            ("tool_core.usage.image.input_tokens", usage.input_image),
            (
                "tool_core.usage.audio.cache_read.input_tokens",
                usage.cached_audio,
            ),
            (
                "tool_core.usage.image.cache_read.input_tokens",
                usage.cached_image,
            ),
            ("tool_core.usage.audio.output_tokens", usage.output_audio),
            ("tool_core.usage.image.output_tokens", usage.output_image),
        ] {
            if tokens > 0 {
                attributes.set_count(key, tokens);
            }
        }
    }
    if span.spent().iter().any(|entry| entry.cost.is_some()) {
        attributes.set("tool_core.cost.usd", span.own_cost().dollars());
    }
}

/// Converts a JSON value. Values without an OpenTelemetry type become JSON text.
fn convert_value(value: &serde_json::Value) -> Option<Value> {
    use serde_json::Value as Json;
    let texts = |items: &[Json]| {
        let text = |item: &Json| {
            item.as_str()
                .map(|text| StringValue::from(escape_control(text).into_owned()))
        };
        items.iter().map(text).collect::<Option<Vec<_>>>()
    };
    Some(match value {
        Json::Null => return None,
        Json::Bool(value) => (*value).into(),
        Json::String(text) => escape_control(text).into_owned().into(),
        Json::Number(number) => match number.as_i64() {
            Some(integer) => integer.into(),
            None => number.as_f64()?.into(),
        },
        Json::Array(items) => match texts(items) {
            Some(texts) => Value::Array(Array::String(texts)),
            None => json_text(value).into(),
        },
        Json::Object(_) => json_text(value).into(),
    })
}

/// Writes a value as JSON text. serde leaves the control characters from U+007F on as they are.
fn json_text(value: &serde_json::Value) -> String {
    let text = value.to_string();
    if !text.contains(char::is_control) {
        return text;
    }
    let escape = |c: char| {
        if c.is_control() {
            format!("\\u{:04x}", u32::from(c))
        } else {
            c.to_string()
        }
    };
    text.chars().map(escape).collect()
}

/// Returns OpenTelemetry's name for a provider, by the name in price tables or in declarations.
pub(crate) fn provider_name(name: &str) -> &str {
    match name {
        "aws" => "aws.bedrock",
        "azure" => "azure.ai.openai",
        "google" => "gcp.gen_ai",
        "moonshotai" => "moonshot_ai",
        "x-ai" => "x_ai",
        name => name
            .parse::<Provider>()
            .map_or(name, |provider| provider.spec().names.otel),
    }
}

pub(crate) struct Instruments {
    tool_duration: Histogram<f64>,
    model_duration: Histogram<f64>,
    tokens: Histogram<u64>,
}

impl Instruments {
    pub(crate) fn new(meter: &Meter) -> Self {
        let duration = |name: &'static str, description: &'static str| {
            let histogram = meter
                .f64_histogram(name)
                .with_unit("s")
                .with_description(description);
            // In steps of two, from 10 ms to 82 s.
            histogram
                .with_boundaries((0..14).map(|step| 0.01 * 2_f64.powi(step)).collect())
                .build()
        };
        let tokens = meter
            .u64_histogram("gen_ai.client.token.usage")
            .with_unit("{token}");
        Self {
            tool_duration: duration(
                "gen_ai.execute_tool.duration",
                "The duration of a single tool execution.",
            ),
            model_duration: duration(
                "gen_ai.client.operation.duration",
                "GenAI operation duration.",
            ),
            tokens: tokens
                .with_description("Number of input and output tokens used.")
                // In steps of four, from 1 to 67 million.
                .with_boundaries((0..14).map(|step| 4_f64.powi(step)).collect())
                .build(),
        }
    }

    /// Records a span that has ended.
    pub(crate) fn record(&self, span: &SpanRecord, parent: &ParentSpan<'_>) {
        let seconds = span.duration().as_secs_f64();
        let error = error_type(span).map(|kind| KeyValue::new(ERROR_TYPE, kind));
        match span.kind() {
            SpanKind::Tool => {
                let mut attributes = vec![
                    text(TOOL, span.name()),
                    KeyValue::new(TOOL_TYPE, "function"),
                ];
                attributes.extend(parent.agent().map(|agent| text(AGENT, agent)));
                attributes.extend(error);
                self.tool_duration.record(seconds, &attributes);
            }
            SpanKind::Llm => {
                let mut attributes = model_attributes(span, last_response(span));
                attributes.extend(error);
                self.model_duration.record(seconds, &attributes);
            }
            _ => {}
        }
        for entry in span
            .spent()
            .iter()
            .filter(|entry| !entry.used.usage.is_empty())
        {
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
    let mut attributes = vec![
        KeyValue::new(OPERATION, "chat"),
        KeyValue::new(PROVIDER, provider(span, entry)),
    ];
    if span.kind() == SpanKind::Llm {
        attributes.push(text(REQUEST_MODEL, span.name()));
    }
    attributes.extend(entry.map(|entry| text(RESPONSE_MODEL, &entry.used.model)));
    attributes
}
