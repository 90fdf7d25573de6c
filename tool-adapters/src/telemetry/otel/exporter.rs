//! The exporter as a sink of a collector, and its builder.

use crate::telemetry::otel::guard::{ExportHealth, GuardedMetricExporter, GuardedSpanExporter, OtelError, SpanQueue};
use crate::telemetry::otel::metrics::Instruments;
use crate::telemetry::otel::spans::span_data;
use opentelemetry::metrics::MeterProvider;
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_otlp::{MetricExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::metrics::exporter::PushMetricExporter;
use opentelemetry_sdk::metrics::{PeriodicReader, SdkMeterProvider};
use opentelemetry_sdk::trace::{BatchConfigBuilder, BatchSpanProcessor, SpanExporter, SpanProcessor};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tool_core::trace::{ParentSpan, SpanRecord, SpanSink};

/// Exports spans and metrics to OpenTelemetry. Cheap to clone: give a clone to
/// [`CollectorBuilder::sink`](tool_core::trace::CollectorBuilder::sink), and keep one to call [`shutdown`](Self::shutdown).
#[derive(Clone)]
pub struct Otel(Arc<OtelInner>);

struct OtelInner {
    /// `None` only while it is dropped.
    pipeline: Option<ExportPipeline>,
    instruments: Instruments,
    queue: Arc<SpanQueue>,
    scope: InstrumentationScope,
    content: bool,
    export_unsampled: bool,
}

struct ExportPipeline {
    spans: BatchSpanProcessor,
    span_health: Arc<ExportHealth>,
    meters: SdkMeterProvider,
    metric_health: Arc<ExportHealth>,
}

impl Otel {
    /// Returns a builder for export over OTLP, as protobuf over HTTP.
    pub fn otlp() -> OtelBuilder {
        OtelBuilder::new()
    }

    /// Returns true if `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` asks for arguments and results of calls on
    /// spans. Meant for [`CollectorBuilder::content`](tool_core::trace::CollectorBuilder::content).
    pub fn captures_content() -> bool {
        std::env::var("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT").is_ok_and(|value| wants_content(&value))
    }

    /// Returns the number of spans that were not exported, because the queue was full or the export failed.
    pub fn dropped(&self) -> u64 {
        self.0.queue.dropped()
    }

    /// Sends the queued spans and the metrics. Blocks until they are sent, or for some seconds; in async code, call it in
    /// `spawn_blocking`.
    ///
    /// # Errors
    ///
    /// Returns an error if not everything could be sent.
    pub fn flush(&self) -> Result<(), OtelError> {
        let Some(pipeline) = &self.0.pipeline else { return Ok(()) };
        pipeline.check(pipeline.spans.force_flush(), pipeline.meters.force_flush())
    }

    /// Sends the queued spans and the metrics, and stops. Spans that end later are dropped and counted. Blocks as
    /// [`flush`](Self::flush) does. Without this call, the last spans before the end of the process may be lost.
    ///
    /// # Errors
    ///
    /// Returns an error if not everything could be sent.
    pub fn shutdown(&self) -> Result<(), OtelError> {
        match &self.0.pipeline {
            Some(pipeline) if self.0.queue.close() => pipeline.shutdown(),
            _ => Ok(()),
        }
    }
}

pub(crate) fn wants_content(value: &str) -> bool {
    ["true", "span_only", "span_and_event"].iter().any(|yes| value.trim().eq_ignore_ascii_case(yes))
}

impl ExportPipeline {
    fn shutdown(&self) -> Result<(), OtelError> {
        // The result of the processor's `shutdown` does not cover the last spans.
        let spans = self.spans.force_flush().and(self.spans.shutdown());
        self.check(spans, self.meters.shutdown())
    }

    fn check(&self, spans: OTelSdkResult, metrics: OTelSdkResult) -> Result<(), OtelError> {
        self.span_health.check(spans).and(self.metric_health.check(metrics))
    }
}

impl SpanSink for Otel {
    fn ended(&self, span: &SpanRecord) {
        self.ended_in(span, &ParentSpan::nothing());
    }

    fn ended_in(&self, span: &SpanRecord, parent: &ParentSpan<'_>) {
        let inner = &*self.0;
        inner.instruments.record(span, parent);
        if !(span.is_sampled() || inner.export_unsampled) || !inner.queue.admit() {
            return;
        }
        if let Some(pipeline) = &inner.pipeline {
            pipeline.spans.on_end(span_data(span, parent, inner.content, &inner.scope));
        }
    }
}

impl Drop for OtelInner {
    /// Sends the queued spans on a thread, as dropping must not block.
    fn drop(&mut self) {
        let Some(pipeline) = self.pipeline.take() else { return };
        if self.queue.close() {
            // Failures are logged by the exporters.
            let shutdown = move || pipeline.shutdown();
            let _ = std::thread::Builder::new().name("otel-last-spans".to_owned()).spawn(shutdown);
        }
    }
}

const MAX_QUEUE_SIZE: usize = 2_048;

/// A builder for an [`Otel`]. Settings default to OpenTelemetry's environment variables, and then to OpenTelemetry's
/// defaults, such as the endpoint `http://localhost:4318`.
#[must_use]
pub struct OtelBuilder {
    endpoint: Option<String>,
    headers: HashMap<String, String>,
    service_name: Option<String>,
    resource: Vec<KeyValue>,
    timeout: Option<Duration>,
    interval: Duration,
    max_queue_size: Option<usize>,
    metrics: bool,
    content: bool,
    export_unsampled: bool,
}

impl OtelBuilder {
    fn new() -> Self {
        Self {
            endpoint: None,
            headers: HashMap::new(),
            service_name: None,
            resource: Vec::new(),
            timeout: None,
            // The SDK takes zero as its default: the environment, or a minute.
            interval: Duration::ZERO,
            max_queue_size: None,
            metrics: !std::env::var("OTEL_METRICS_EXPORTER").is_ok_and(|exporter| exporter.trim() == "none"),
            content: true,
            export_unsampled: false,
        }
    }

    /// Sets the base URL of the receiver, such as `http://localhost:4318`. Only OTLP over HTTP is supported, not gRPC.
    pub fn endpoint(mut self, url: impl Into<String>) -> Self {
        self.endpoint = Some(url.into());
        self
    }

    /// Adds a header to every request, such as an API key.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.insert(name.into(), value.into());
        self
    }

    /// Sets the resource attribute `service.name`.
    pub fn service_name(mut self, name: impl Into<String>) -> Self {
        self.service_name = Some(name.into());
        self
    }

    /// Adds a resource attribute, such as `deployment.environment.name`.
    pub fn resource(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.resource.push(KeyValue::new(key.into(), value.into()));
        self
    }

    /// Enables or disables metrics, as some receivers accept only spans. Defaults to true, unless
    /// `OTEL_METRICS_EXPORTER` is `none`.
    pub fn metrics(mut self, enabled: bool) -> Self {
        self.metrics = enabled;
        self
    }

    /// Sets the time limit of a request. Defaults to 10 seconds.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sets the interval at which metrics are sent. Defaults to a minute.
    pub fn metrics_every(mut self, interval: Duration) -> Self {
        self.interval = interval;
        self
    }

    /// Sets the maximum number of queued spans. Defaults to 2,048. Spans that find the queue full are dropped.
    pub fn max_queue_size(mut self, spans: usize) -> Self {
        self.max_queue_size = Some(spans.max(1));
        self
    }

    /// Enables or disables the export of arguments and results that the collector keeps. Defaults to true.
    pub fn content(mut self, enabled: bool) -> Self {
        self.content = enabled;
        self
    }

    /// Enables or disables the export of traces that another process began without sampling them. Defaults to false.
    pub fn export_unsampled(mut self, enabled: bool) -> Self {
        self.export_unsampled = enabled;
        self
    }

    /// Builds the exporter and starts its threads. Does not connect to the receiver.
    ///
    /// # Errors
    ///
    /// Returns an error if the endpoint or an environment variable is invalid, or if the HTTP client cannot be created.
    pub fn build(self) -> Result<Otel, OtelError> {
        let mut spans = opentelemetry_otlp::SpanExporter::builder().with_http().with_headers(self.headers.clone());
        let mut metrics = MetricExporter::builder().with_http().with_headers(self.headers.clone());
        if let Some(url) = &self.endpoint {
            let is_http = ["http://", "https://"].iter().any(|scheme| url.starts_with(scheme));
            let base = is_http.then(|| url.trim_end_matches('/')).ok_or(OtelError::InvalidEndpoint)?;
            spans = spans.with_endpoint(format!("{base}/v1/traces"));
            metrics = metrics.with_endpoint(format!("{base}/v1/metrics"));
        }
        if let Some(timeout) = self.timeout {
            (spans, metrics) = (spans.with_timeout(timeout), metrics.with_timeout(timeout));
        }
        Ok(self.build_with(spans.build()?, metrics.build()?))
    }

    pub(crate) fn build_with(
        self,
        span_exporter: impl SpanExporter + 'static,
        metric_exporter: impl PushMetricExporter,
    ) -> Otel {
        let mut resource = Resource::builder().with_attributes(self.resource);
        if let Some(name) = self.service_name {
            resource = resource.with_service_name(name);
        }
        let resource = resource.build();
        let max_queue_size = self.max_queue_size.or_else(queue_size_from_env).unwrap_or(MAX_QUEUE_SIZE);
        let queue = Arc::new(SpanQueue::new(max_queue_size));

        let span_health = Arc::new(ExportHealth::new("spans"));
        let exporter = GuardedSpanExporter::new(span_exporter, Arc::clone(&queue), Arc::clone(&span_health));
        let config = BatchConfigBuilder::default().with_max_queue_size(max_queue_size).build();
        let mut spans = BatchSpanProcessor::new(exporter, config);
        spans.set_resource(&resource);

        let metric_health = Arc::new(ExportHealth::new("metrics"));
        let mut meters = SdkMeterProvider::builder().with_resource(resource);
        if self.metrics {
            let exporter = GuardedMetricExporter::new(metric_exporter, Arc::clone(&metric_health));
            meters = meters.with_reader(PeriodicReader::builder(exporter).with_interval(self.interval).build());
        }
        let meters = meters.build();

        let scope = InstrumentationScope::builder("tool-core").with_version(env!("CARGO_PKG_VERSION")).build();
        Otel(Arc::new(OtelInner {
            instruments: Instruments::new(&meters.meter_with_scope(scope.clone())),
            pipeline: Some(ExportPipeline { spans, span_health, meters, metric_health }),
            queue,
            scope,
            content: self.content,
            export_unsampled: self.export_unsampled,
        }))
    }
}

fn queue_size_from_env() -> Option<usize> {
    std::env::var("OTEL_BSP_MAX_QUEUE_SIZE").ok()?.parse().ok().filter(|spans| *spans > 0)
}
