//! The sink of a collector.

use crate::providers::provider::Provider;
use crate::telemetry::otel::guard::{Failing, Queue};
use crate::telemetry::otel::metrics::Instruments;
use crate::telemetry::otel::{OtelBuilder, OtelError};
use crate::transport::sanitize::escape_control;
use opentelemetry::metrics::MeterProvider;
use opentelemetry::trace::{SpanContext, SpanId, SpanKind as Kind, Status, TraceFlags, TraceId, TraceState};
use opentelemetry::{Array, InstrumentationScope, KeyValue, StringValue, Value};
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::trace::{BatchSpanProcessor, SpanData, SpanEvents, SpanLinks, SpanProcessor};
use std::borrow::Cow;
use std::sync::Arc;
use tool_core::trace::{CostEntry, ParentSpan, SpanKind, SpanRecord, SpanSink, SpanStatus, TokenUsage};

/// Sends spans and metrics to OpenTelemetry. Cheap to clone: give a clone to
/// [`CollectorBuilder::sink`](tool_core::trace::CollectorBuilder::sink), and keep one for the [`shutdown`](Self::shutdown).
#[derive(Clone)]
pub struct Otel(Arc<Inner>);

struct Inner {
    /// There until this is dropped.
    sending: Option<Sending>,
    instruments: Instruments,
    queue: Arc<Queue>,
    scope: InstrumentationScope,
    content: bool,
    unsampled: bool,
}

/// What sends.
pub(crate) struct Sending {
    pub(crate) spans: BatchSpanProcessor,
    pub(crate) of_spans: Arc<Failing>,
    pub(crate) meters: SdkMeterProvider,
    pub(crate) of_metrics: Arc<Failing>,
}

impl Otel {
    /// Over OTLP, as protobuf over HTTP.
    pub fn otlp() -> OtelBuilder {
        OtelBuilder::new()
    }

    /// Whether the environment wants arguments and results of calls to be kept:
    /// `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` is `true`, or names spans as the place. For
    /// [`CollectorBuilder::content`](tool_core::trace::CollectorBuilder::content).
    pub fn captures_content() -> bool {
        std::env::var("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT").is_ok_and(|value| wants_content(&value))
    }

    pub(crate) fn new(sending: Sending, queue: Arc<Queue>, content: bool, unsampled: bool) -> Self {
        let scope = InstrumentationScope::builder("tool-core").with_version(env!("CARGO_PKG_VERSION")).build();
        let instruments = Instruments::new(&sending.meters.meter_with_scope(scope.clone()));
        Self(Arc::new(Inner { sending: Some(sending), instruments, queue, scope, content, unsampled }))
    }

    /// How many spans did not arrive: the queue was full, or they could not be sent.
    pub fn dropped(&self) -> u64 {
        self.0.queue.dropped()
    }

    /// Sends what waits, and comes back when it is sent, or after some seconds. It blocks: from an async fn, call it in
    /// `spawn_blocking`.
    ///
    /// # Errors
    /// Not everything could be sent.
    pub fn flush(&self) -> Result<(), OtelError> {
        let Some(sending) = &self.0.sending else { return Ok(()) };
        sending.told(sending.spans.force_flush(), sending.meters.force_flush())
    }

    /// Sends what waits, and ends: spans that end later are dropped and counted. It blocks, as [`flush`](Self::flush)
    /// does. Call it before the process ends, or the last spans may not arrive.
    ///
    /// # Errors
    /// Not everything could be sent.
    pub fn shutdown(&self) -> Result<(), OtelError> {
        match &self.0.sending {
            Some(sending) if self.0.queue.close() => sending.end(),
            _ => Ok(()),
        }
    }
}

pub(crate) fn wants_content(value: &str) -> bool {
    ["true", "span_only", "span_and_event"].iter().any(|yes| value.trim().eq_ignore_ascii_case(yes))
}

impl Sending {
    fn end(&self) -> Result<(), OtelError> {
        // The processor's own end does not tell whether the last spans were sent.
        let spans = self.spans.force_flush().and(self.spans.shutdown());
        self.told(spans, self.meters.shutdown())
    }

    fn told(&self, spans: OTelSdkResult, metrics: OTelSdkResult) -> Result<(), OtelError> {
        self.of_spans.told(spans).and(self.of_metrics.told(metrics))
    }
}

impl SpanSink for Otel {
    fn ended(&self, span: &SpanRecord) {
        self.ended_in(span, &ParentSpan::nothing());
    }

    fn ended_in(&self, span: &SpanRecord, around: &ParentSpan<'_>) {
        let inner = &*self.0;
        inner.instruments.record(span, around);
        if !(span.is_sampled() || inner.unsampled) || !inner.queue.admits() {
            return;
        }
        if let Some(sending) = &inner.sending {
            sending.spans.on_end(of(span, around, inner.content, &inner.scope));
        }
    }
}

impl Drop for Inner {
    /// Nobody has said that it ends: what waits goes out on a thread of its own, and whoever drops this does not wait.
    fn drop(&mut self) {
        let Some(sending) = self.sending.take() else { return };
        if self.queue.close() {
            // There is nobody left to be told how it went.
            let last = move || sending.end();
            let _ = std::thread::Builder::new().name("otel-last-spans".to_owned()).spawn(last);
        }
    }
}

// ---- A span of ours as the SDK hands it to its exporters: with our ids.

/// With arguments and results only where `content` is to be sent.
pub(crate) fn of(span: &SpanRecord, around: &ParentSpan<'_>, content: bool, scope: &InstrumentationScope) -> SpanData {
    let start_time = span.started();
    SpanData {
        span_context: context(span),
        parent_span_id: span.parent().map_or(SpanId::INVALID, |id| SpanId::from_bytes(id.to_bytes())),
        parent_span_is_remote: span.is_parent_remote(),
        span_kind: kind(span.kind()),
        name: name(span),
        start_time,
        end_time: start_time + span.duration(),
        attributes: of_span(span, around, content),
        dropped_attributes_count: 0,
        events: SpanEvents::default(),
        links: SpanLinks::default(),
        status: status(span),
        instrumentation_scope: scope.clone(),
    }
}

fn context(span: &SpanRecord) -> SpanContext {
    // Ours holds what W3C Trace Context allows, so the SDK takes it.
    let state = span.tracestate().and_then(|state| state.parse().ok()).unwrap_or(TraceState::NONE);
    let trace = TraceId::from_bytes(span.trace_id().to_bytes());
    // What is exported is sampled; the processor drops the others.
    SpanContext::new(trace, SpanId::from_bytes(span.span_id().to_bytes()), TraceFlags::SAMPLED, false, state)
}

fn kind(kind: SpanKind) -> Kind {
    match kind {
        SpanKind::Llm | SpanKind::Http => Kind::Client,
        _ => Kind::Internal,
    }
}

fn name(span: &SpanRecord) -> Cow<'static, str> {
    let name = escape_control(span.name());
    let named = match span.kind() {
        SpanKind::Agent => format!("invoke_agent {name}"),
        SpanKind::Tool => format!("execute_tool {name}"),
        SpanKind::Llm => format!("chat {name}"),
        _ => name.into_owned(),
    };
    Cow::Owned(named)
}

/// Nothing is said of a span that ended well, as the conventions have it.
fn status(span: &SpanRecord) -> Status {
    let message = span.error().and_then(|error| error.message.as_deref());
    match error_type(span) {
        None => Status::Unset,
        Some(kind) => Status::error(escape_control(message.unwrap_or(kind)).into_owned()),
    }
}

// ---- What is said of a span.

/// Attributes in the order in which they came; a later one takes the place of an earlier one of the same name.
pub(crate) struct Attributes(Vec<KeyValue>);

impl Attributes {
    fn put(&mut self, key: &'static str, value: impl Into<Value>) {
        let value = value.into();
        match self.0.iter_mut().find(|known| known.key.as_str() == key) {
            Some(known) => known.value = value,
            None => self.0.push(KeyValue::new(key, value)),
        }
    }

    fn text(&mut self, key: &'static str, text: Option<&str>) {
        if let Some(text) = text {
            self.put(key, escape_control(text).into_owned());
        }
    }

    fn count(&mut self, key: &'static str, count: u64) {
        self.put(key, i64::try_from(count).unwrap_or(i64::MAX));
    }
}

/// What went wrong, one of few; `None` where nothing did.
pub(crate) fn error_type(span: &SpanRecord) -> Option<&'static str> {
    let kind = span.error().map(|error| error.kind);
    match span.status() {
        SpanStatus::Ok => None,
        SpanStatus::Error => Some(kind.unwrap_or(OTHER)),
        status => Some(status.as_str()),
    }
}

/// What a model used, the latest; of what is no model there is none.
fn latest(span: &SpanRecord) -> Option<&CostEntry> {
    span.spent().iter().rev().find(|spent| !spent.used.usage.is_empty() || spent.used.response_id.is_some())
}

/// The provider of a question's model: as it was told with the use, or when it was asked.
pub(crate) fn provider(span: &SpanRecord, spent: Option<&CostEntry>) -> String {
    let asked = || span.attributes().find(|(key, _)| *key == PROVIDER).and_then(|(_, value)| value.as_str());
    let told = spent.and_then(|spent| spent.used.provider.as_deref());
    escape_control(told.or_else(asked).map_or(OTHER, provider_name)).into_owned()
}

/// All attributes of a span.
pub(crate) fn of_span(span: &SpanRecord, around: &ParentSpan<'_>, content: bool) -> Vec<KeyValue> {
    let mut attributes = Attributes(Vec::with_capacity(12));
    of_kind(span, around, &mut attributes);
    for (key, value) in span.attributes() {
        if (content || !CONTENT.contains(&key))
            && let Some(value) = value_of(value)
        {
            attributes.put(key, value);
        }
    }
    if span.kind() == SpanKind::Llm {
        of_answer(span, &mut attributes);
    }
    of_spending(span, &mut attributes);
    attributes.text(ERROR, error_type(span));
    attributes.text(RUN, span.run_id());
    attributes.text(CUSTOMER, span.customer_id());
    attributes.0
}

fn of_kind(span: &SpanRecord, around: &ParentSpan<'_>, attributes: &mut Attributes) {
    match span.kind() {
        SpanKind::Agent => {
            attributes.put(OPERATION, "invoke_agent");
            attributes.text(AGENT, Some(span.name()));
        }
        SpanKind::Tool => {
            attributes.put(OPERATION, "execute_tool");
            attributes.text(TOOL, Some(span.name()));
            attributes.put(TOOL_TYPE, "function");
            attributes.text(CALL_ID, span.call_id());
            attributes.text(AGENT, around.agent());
        }
        SpanKind::Llm => {
            attributes.put(OPERATION, "chat");
            attributes.text(REQUEST_MODEL, Some(span.name()));
            attributes.text(AGENT, around.agent());
        }
        _ => {}
    }
}

fn of_answer(span: &SpanRecord, attributes: &mut Attributes) {
    let answer = latest(span);
    attributes.put(PROVIDER, provider(span, answer));
    let Some(used) = answer.map(|spent| &spent.used) else { return };
    attributes.text(RESPONSE_MODEL, Some(&used.model));
    attributes.text(RESPONSE_ID, used.response_id.as_deref());
    if !used.tool_calls.is_empty() {
        let names = used.tool_calls.iter().map(|(_, tool)| StringValue::from(escape_control(tool).into_owned()));
        attributes.put(TOOL_CALLS, Value::Array(Array::String(names.collect())));
    }
}

/// What was used and spent in the span itself: each token and each cent stands on one span.
fn of_spending(span: &SpanRecord, attributes: &mut Attributes) {
    let usage = span.spent().iter().fold(TokenUsage::default(), |sum, spent| sum + spent.used.usage);
    if !usage.is_empty() {
        attributes.count(INPUT_TOKENS, usage.input);
        attributes.count(OUTPUT_TOKENS, usage.output);
        // Providers mostly say nothing of these where there are none.
        for (key, tokens) in
            [(CACHE_READ, usage.cached), (CACHE_WRITE, usage.cache_written), (REASONING, usage.reasoning)]
        {
            if tokens > 0 {
                attributes.count(key, tokens);
            }
        }
    }
    if span.spent().iter().any(|spent| spent.cost.is_some()) {
        attributes.put(COST, span.own_cost().dollars());
    }
}

/// A value as OpenTelemetry has it: what has no type of its own is JSON text.
fn value_of(value: &serde_json::Value) -> Option<Value> {
    use serde_json::Value as Json;
    let texts = |items: &[Json]| {
        let text = |item: &Json| item.as_str().map(|text| StringValue::from(escape_control(text).into_owned()));
        items.iter().map(text).collect::<Option<Vec<_>>>()
    };
    Some(match value {
        Json::Null => return None,
        Json::Bool(value) => (*value).into(),
        Json::String(text) => escape_control(text).into_owned().into(),
        Json::Number(number) => match number.as_i64() {
            Some(whole) => whole.into(),
            None => number.as_f64()?.into(),
        },
        Json::Array(items) => match texts(items) {
            Some(texts) => Value::Array(Array::String(texts)),
            None => value.to_string().into(),
        },
        Json::Object(_) => value.to_string().into(),
    })
}

// ---- The names of OpenTelemetry's conventions for generative AI, and our own where they have none.
//
// They are in development, in `open-telemetry/semantic-conventions-genai`. Spans are as of its commit `b9449702`, which
// named `cache_write`; metrics as of `004902b8`. Later commits split `gen_ai.client.token.usage` by direction: not
// followed here until what reads it does.

pub(crate) const OPERATION: &str = "gen_ai.operation.name";
pub(crate) const PROVIDER: &str = "gen_ai.provider.name";
pub(crate) const AGENT: &str = "gen_ai.agent.name";
pub(crate) const TOOL: &str = "gen_ai.tool.name";
pub(crate) const TOOL_TYPE: &str = "gen_ai.tool.type";
pub(crate) const CALL_ID: &str = "gen_ai.tool.call.id";
pub(crate) const REQUEST_MODEL: &str = "gen_ai.request.model";
pub(crate) const RESPONSE_MODEL: &str = "gen_ai.response.model";
pub(crate) const RESPONSE_ID: &str = "gen_ai.response.id";
pub(crate) const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
pub(crate) const CACHE_READ: &str = "gen_ai.usage.cache_read.input_tokens";
pub(crate) const CACHE_WRITE: &str = "gen_ai.usage.cache_write.input_tokens";
pub(crate) const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
pub(crate) const REASONING: &str = "gen_ai.usage.reasoning.output_tokens";
pub(crate) const TOKEN_TYPE: &str = "gen_ai.token.type";
pub(crate) const ERROR: &str = "error.type";

pub(crate) const COST: &str = "tool_core.cost.usd";
pub(crate) const TOOL_CALLS: &str = "tool_core.tool_calls";
pub(crate) const RUN: &str = "tool_core.run_id";
pub(crate) const CUSTOMER: &str = "tool_core.customer_id";

pub(crate) const TOOL_DURATION: &str = "gen_ai.execute_tool.duration";
pub(crate) const MODEL_DURATION: &str = "gen_ai.client.operation.duration";
pub(crate) const TOKENS: &str = "gen_ai.client.token.usage";

/// What people say and tools answer.
pub(crate) const CONTENT: [&str; 5] = [
    "gen_ai.tool.call.arguments",
    "gen_ai.tool.call.result",
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.system_instructions",
];

/// What is required and not known.
pub(crate) const OTHER: &str = "_OTHER";

/// A provider's name, from the one that price tables and our declarations know it by.
pub(crate) fn provider_name(name: &str) -> &str {
    match name {
        "aws" => "aws.bedrock",
        "azure" => "azure.ai.openai",
        "google" => "gcp.gen_ai",
        "moonshotai" => "moonshot_ai",
        "x-ai" => "x_ai",
        name => name.parse::<Provider>().map_or(name, |provider| provider.spec().otel_name),
    }
}
