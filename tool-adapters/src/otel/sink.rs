//! The sink of a collector.

use super::build::{OtelBuilder, OtelError};
use super::guard::{Failing, Queue};
use super::metrics::Instruments;
use super::span;
use opentelemetry::InstrumentationScope;
use opentelemetry::metrics::MeterProvider;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::trace::{BatchSpanProcessor, SpanProcessor};
use std::sync::Arc;
use tool_core::trace::{ParentSpan, SpanRecord, SpanSink};

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
pub(super) struct Sending {
    pub(super) spans: BatchSpanProcessor,
    pub(super) of_spans: Arc<Failing>,
    pub(super) meters: SdkMeterProvider,
    pub(super) of_metrics: Arc<Failing>,
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

    pub(super) fn new(sending: Sending, queue: Arc<Queue>, content: bool, unsampled: bool) -> Self {
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

pub(super) fn wants_content(value: &str) -> bool {
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
            sending.spans.on_end(span::of(span, around, inner.content, &inner.scope));
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
