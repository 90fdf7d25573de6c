//! The exporter as a sink of a collector, its builder, and guards around the exporters of the SDK.
//!
//! The guards count the spans that wait and those that are lost, catch panics, and log failures
//! once.

use crate::otel::conventions::{Instruments, span_data};
use futures_util::FutureExt;
use opentelemetry::metrics::MeterProvider;
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_otlp::{ExporterBuildError, MetricExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::metrics::data::ResourceMetrics;
use opentelemetry_sdk::metrics::exporter::PushMetricExporter;
use opentelemetry_sdk::metrics::{PeriodicReader, SdkMeterProvider, Temporality};
use opentelemetry_sdk::trace::{
    BatchConfigBuilder, BatchSpanProcessor, SpanData, SpanExporter, SpanProcessor,
};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;
use tool_adapters_http::debug_only;
use tool_core::time::CENTURY;
use tool_core::trace::{ParentSpan, SpanRecord, SpanSink};

/// Exports spans and metrics to OpenTelemetry. Cheap to clone: give a clone to
/// [`CollectorBuilder::sink`](tool_core::trace::CollectorBuilder::sink), and keep one to call [`shutdown`](Self::shutdown).
///
/// ```no_run
/// use tool_adapters::telemetry::otel::Otel;
/// use tool_core::trace::Collector;
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let otel = Otel::otlp().service_name("concierge").build()?; // OTEL_EXPORTER_OTLP_ENDPOINT, or http://localhost:4318
///     Collector::builder().sink(otel.clone()).build().install();
///     tokio::runtime::Runtime::new()?.block_on(serve());
///     otel.shutdown()?; // sends the last spans
///     eprintln!("{} spans were not exported", otel.dropped());
///     Ok(())
/// }
/// # async fn serve() {}
/// ```
#[derive(Clone)]
pub struct Otel(Arc<OtelInner>);

struct OtelInner {
    pipeline: Arc<ExportPipeline>,
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
        OtelBuilder::default()
    }

    /// Returns true if `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` asks for arguments and results of calls on
    /// spans. Meant for [`CollectorBuilder::content`](tool_core::trace::CollectorBuilder::content).
    pub fn captures_content() -> bool {
        std::env::var("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT")
            .is_ok_and(|value| wants_content(&value))
    }

    /// Returns the number of spans that were not exported, because the queue was full or the export
    /// failed.
    pub fn dropped(&self) -> u64 {
        self.0.queue.dropped.load(Ordering::Relaxed)
    }

    /// Sends the queued spans and the metrics. Blocks until they are sent, or for some seconds; in
    /// async code, call it in `spawn_blocking`.
    ///
    /// # Errors
    ///
    /// Returns an error if not everything could be sent.
    pub fn flush(&self) -> Result<(), OtelError> {
        let pipeline = &self.0.pipeline;
        pipeline.check(pipeline.spans.force_flush(), pipeline.meters.force_flush())
    }

    /// Sends the queued spans and the metrics, and stops. Spans that end later are dropped and
    /// counted. Blocks as
    /// [`flush`](Self::flush) does. Without this call, the last spans before the end of the process may be lost.
    ///
    /// # Errors
    ///
    /// Returns an error if not everything could be sent.
    pub fn shutdown(&self) -> Result<(), OtelError> {
        if self.0.queue.close() {
            self.0.pipeline.shutdown()
        } else {
            Ok(())
        }
    }
}

pub(crate) fn wants_content(value: &str) -> bool {
    ["true", "span_only", "span_and_event"]
        .iter()
        .any(|yes| value.trim().eq_ignore_ascii_case(yes))
}

impl ExportPipeline {
    fn shutdown(&self) -> Result<(), OtelError> {
        // The result of the processor's `shutdown` does not cover the last spans.
        let spans = self.spans.force_flush().and(self.spans.shutdown());
        self.check(spans, self.meters.shutdown())
    }

    fn check(&self, spans: OTelSdkResult, metrics: OTelSdkResult) -> Result<(), OtelError> {
        self.span_health
            .check(spans)
            .and(self.metric_health.check(metrics))
    }
}

impl SpanSink for Otel {
    fn ended(&self, span: &SpanRecord) {
        self.ended_in(span, &ParentSpan::default());
    }

    fn ended_in(&self, span: &SpanRecord, parent: &ParentSpan<'_>) {
        let inner = &*self.0;
        inner.instruments.record(span, parent);
        if (span.is_sampled() || inner.export_unsampled) && inner.queue.admit() {
            inner
                .pipeline
                .spans
                .on_end(span_data(span, parent, inner.content, &inner.scope));
        }
    }
}

impl Drop for OtelInner {
    /// Sends the queued spans on a thread, as dropping must not block.
    fn drop(&mut self) {
        if self.queue.close() {
            let pipeline = Arc::clone(&self.pipeline);
            // Failures are logged by the exporters.
            let shutdown = move || pipeline.shutdown();
            let _ = std::thread::Builder::new()
                .name("otel-last-spans".to_owned())
                .spawn(shutdown);
        }
    }
}

const MAX_QUEUE_SIZE: usize = 2_048;

/// A builder for an [`Otel`]. Settings default to OpenTelemetry's environment variables, and then
/// to OpenTelemetry's defaults, such as the endpoint `http://localhost:4318`.
///
/// ```
/// use std::time::Duration;
/// use tool_adapters::telemetry::otel::{Otel, OtelError};
///
/// let otel = Otel::otlp()
///     .endpoint("https://collector.example:4318")
///     .header("x-api-key", "key-1")
///     .service_name("concierge")
///     .resource("deployment.environment.name", "staging")
///     .metrics(false) // for a receiver of spans only
///     .timeout(Duration::from_secs(5))
///     .build()?;
/// assert_eq!(otel.dropped(), 0);
///
/// let without_scheme = Otel::otlp().endpoint("collector.example:4318").build();
/// assert!(matches!(without_scheme, Err(OtelError::InvalidEndpoint)));
/// # Ok::<(), OtelError>(())
/// ```
#[derive(Default)]
#[must_use]
pub struct OtelBuilder {
    endpoint: Option<String>,
    headers: HashMap<String, String>,
    service_name: Option<String>,
    resource: Vec<KeyValue>,
    timeout: Option<Duration>,
    /// The SDK takes zero as its default: the environment, or a minute.
    interval: Duration,
    max_queue_size: Option<usize>,
    metrics: Option<bool>,
    without_content: bool,
    export_unsampled: bool,
}

impl OtelBuilder {
    /// Sets the base URL of the receiver, such as `http://localhost:4318`. Only OTLP over HTTP is
    /// supported, not gRPC.
    pub fn endpoint(self, url: impl Into<String>) -> Self {
        Self {
            endpoint: Some(url.into()),
            ..self
        }
    }

    /// Adds a header to every request, such as an API key.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.insert(name.into(), value.into());
        self
    }

    /// Sets the resource attribute `service.name`.
    pub fn service_name(self, name: impl Into<String>) -> Self {
        Self {
            service_name: Some(name.into()),
            ..self
        }
    }

    /// Adds a resource attribute, such as `deployment.environment.name`.
    pub fn resource(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.resource.push(KeyValue::new(key.into(), value.into()));
        self
    }

    /// Enables or disables metrics, as some receivers accept only spans. Defaults to true, unless
    /// `OTEL_METRICS_EXPORTER` is `none`.
    pub fn metrics(self, enabled: bool) -> Self {
        Self {
            metrics: Some(enabled),
            ..self
        }
    }

    /// Sets the time limit of a request. Defaults to 10 seconds.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        // The HTTP client adds it to an instant.
        self.timeout = Some(timeout.min(CENTURY));
        self
    }

    /// Sets the interval at which metrics are sent. Defaults to a minute.
    pub fn metrics_every(self, interval: Duration) -> Self {
        Self { interval, ..self }
    }

    /// Sets the maximum number of queued spans. Defaults to 2,048. Spans that find the queue full
    /// are dropped.
    pub fn max_queue_size(self, spans: usize) -> Self {
        Self {
            max_queue_size: Some(spans.max(1)),
            ..self
        }
    }

    /// Enables or disables the export of arguments and results that the collector keeps. Defaults
    /// to true.
    pub fn content(self, enabled: bool) -> Self {
        Self {
            without_content: !enabled,
            ..self
        }
    }

    /// Enables or disables the export of traces that another process began without sampling them.
    /// Defaults to false.
    pub fn export_unsampled(self, enabled: bool) -> Self {
        Self {
            export_unsampled: enabled,
            ..self
        }
    }

    /// Builds the exporter and starts its threads. Does not connect to the receiver.
    ///
    /// # Errors
    ///
    /// Returns an error if the endpoint or an environment variable is invalid, or if the HTTP
    /// client cannot be created.
    pub fn build(self) -> Result<Otel, OtelError> {
        let mut spans = opentelemetry_otlp::SpanExporter::builder()
            .with_http()
            .with_headers(self.headers.clone());
        let mut metrics = MetricExporter::builder()
            .with_http()
            .with_headers(self.headers.clone());
        if let Some(url) = &self.endpoint {
            let is_http = ["http://", "https://"]
                .iter()
                .any(|scheme| url.starts_with(scheme));
            let base = is_http
                .then(|| url.trim_end_matches('/'))
                .ok_or(OtelError::InvalidEndpoint)?;
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
        let in_env = std::env::var("OTEL_BSP_MAX_QUEUE_SIZE")
            .ok()
            .and_then(|spans| spans.parse().ok());
        let max_queue_size = self
            .max_queue_size
            .or(in_env.filter(|spans| *spans > 0))
            .unwrap_or(MAX_QUEUE_SIZE);
        let queue = Arc::new(SpanQueue {
            capacity: max_queue_size,
            ..SpanQueue::default()
        });

        let span_health = Arc::new(ExportHealth {
            signal: "spans",
            error: Mutex::default(),
        });
        let guarded_queue = Arc::clone(&queue);
        let health = Arc::clone(&span_health);
        let exporter = GuardedSpanExporter {
            exporter: span_exporter,
            queue: guarded_queue,
            health,
        };
        let config = BatchConfigBuilder::default()
            .with_max_queue_size(max_queue_size)
            .build();
        let mut spans = BatchSpanProcessor::new(exporter, config);
        spans.set_resource(&resource);

        let metric_health = Arc::new(ExportHealth {
            signal: "metrics",
            error: Mutex::default(),
        });
        let mut meters = SdkMeterProvider::builder().with_resource(resource);
        let are_disabled =
            std::env::var("OTEL_METRICS_EXPORTER").is_ok_and(|exporter| exporter.trim() == "none");
        if self.metrics.unwrap_or(!are_disabled) {
            let exporter = GuardedMetricExporter {
                exporter: metric_exporter,
                health: Arc::clone(&metric_health),
            };
            meters = meters.with_reader(
                PeriodicReader::builder(exporter)
                    .with_interval(self.interval)
                    .build(),
            );
        }
        let meters = meters.build();

        let scope = InstrumentationScope::builder("tool-core")
            .with_version(env!("CARGO_PKG_VERSION"))
            .build();
        Otel(Arc::new(OtelInner {
            instruments: Instruments::new(&meters.meter_with_scope(scope.clone())),
            pipeline: Arc::new(ExportPipeline {
                spans,
                span_health,
                meters,
                metric_health,
            }),
            queue,
            scope,
            content: !self.without_content,
            export_unsampled: self.export_unsampled,
        }))
    }
}

/// An error of building an exporter, or of exporting.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OtelError {
    /// The endpoint is not an HTTP URL. The error does not repeat it, as a URL may hold a password.
    #[error("expected the OTLP endpoint to be an HTTP URL such as `http://localhost:4318`")]
    InvalidEndpoint,
    /// The exporter could not be built. The text names an invalid setting without its value, which
    /// may hold a password.
    #[error(
        "failed to build the OTLP exporter: {0}; check its endpoint and `OTEL_EXPORTER_OTLP_*`"
    )]
    Build(String),
    /// Not everything was exported.
    #[error("failed to export all {signal}: {source}; check the OTLP endpoint")]
    Export {
        /// `spans` or `metrics`.
        signal: &'static str,
        /// The error of the exporter.
        source: Arc<OTelSdkError>,
    },
}

impl From<ExporterBuildError> for OtelError {
    fn from(error: ExporterBuildError) -> Self {
        Self::Build(match error {
            ExporterBuildError::InvalidConfiguration(text) => {
                format!("invalid `{}`", text.split(':').next().unwrap_or_default())
            }
            ExporterBuildError::InternalFailure(text) => text,
        })
    }
}

/// Counts the spans that wait in the processor's queue, and those that are dropped.
#[derive(Debug, Default)]
struct SpanQueue {
    capacity: usize,
    waiting: AtomicUsize,
    dropped: AtomicU64,
    overflowed: AtomicBool,
    closed: AtomicBool,
}

impl SpanQueue {
    /// Reserves room for a span. Returns false, and counts the span as dropped, if there is none.
    fn admit(&self) -> bool {
        let reserve = |waiting: usize| (waiting < self.capacity).then_some(waiting + 1);
        let is_closed = self.closed.load(Ordering::Relaxed);
        if !is_closed
            && self
                .waiting
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, reserve)
                .is_ok()
        {
            return true;
        }
        self.dropped.fetch_add(1, Ordering::Relaxed);
        if !is_closed && !self.overflowed.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                capacity = self.capacity,
                "dropped a span: the queue of the exporter is full"
            );
        }
        false
    }

    fn release(&self, spans: usize, lost: bool) {
        self.waiting.fetch_sub(spans, Ordering::Relaxed);
        if lost {
            self.dropped.fetch_add(spans as u64, Ordering::Relaxed);
        }
    }

    /// Closes the queue. Returns true for the first call.
    fn close(&self) -> bool {
        !self.closed.swap(true, Ordering::Relaxed)
    }
}

/// The result of the last export. Logs a failure once, until an export succeeds.
#[derive(Debug)]
struct ExportHealth {
    signal: &'static str,
    error: Mutex<Option<Arc<OTelSdkError>>>,
}

impl ExportHealth {
    /// Remembers the result of an export, and passes it on.
    fn observe(&self, result: OTelSdkResult) -> OTelSdkResult {
        let mut last = self.error.lock();
        let Err(error) = result else {
            *last = None;
            return Ok(());
        };
        if last.is_none() {
            tracing::warn!(%error, "failed to export {}; check the OTLP endpoint", self.signal);
        }
        let copy = match &error {
            OTelSdkError::AlreadyShutdown => OTelSdkError::AlreadyShutdown,
            OTelSdkError::Timeout(time) => OTelSdkError::Timeout(*time),
            OTelSdkError::InternalFailure(text) => OTelSdkError::InternalFailure(text.clone()),
        };
        *last = Some(Arc::new(error));
        Err(copy)
    }

    /// Converts a result of the SDK. Prefers the error of the last export, which says more of the
    /// cause.
    fn check(&self, result: OTelSdkResult) -> Result<(), OtelError> {
        result.map_err(|error| {
            let last = self.error.lock().clone();
            OtelError::Export {
                signal: self.signal,
                source: last.unwrap_or_else(|| Arc::new(error)),
            }
        })
    }
}

fn panicked() -> OTelSdkError {
    OTelSdkError::InternalFailure("the exporter panicked".to_owned())
}

async fn catch_panic_async(export: impl Future<Output = OTelSdkResult>) -> OTelSdkResult {
    AssertUnwindSafe(export)
        .catch_unwind()
        .await
        .unwrap_or_else(|_| Err(panicked()))
}

fn catch_panic(work: impl FnOnce() -> OTelSdkResult) -> OTelSdkResult {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(panicked()))
}

struct GuardedSpanExporter<E> {
    exporter: E,
    queue: Arc<SpanQueue>,
    health: Arc<ExportHealth>,
}

debug_only!(GuardedSpanExporter<E>, |this| queue: this.queue);

impl<E: SpanExporter> SpanExporter for GuardedSpanExporter<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let spans = batch.len();
        // In an async block, as the call itself may panic too.
        let result = catch_panic_async(async { self.exporter.export(batch).await }).await;
        self.queue.release(spans, result.is_err());
        self.health.observe(result)
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        catch_panic(|| self.exporter.shutdown_with_timeout(timeout))
    }

    fn force_flush(&self) -> OTelSdkResult {
        catch_panic(|| self.exporter.force_flush())
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

struct GuardedMetricExporter<E> {
    exporter: E,
    health: Arc<ExportHealth>,
}

impl<E: PushMetricExporter> PushMetricExporter for GuardedMetricExporter<E> {
    async fn export(&self, metrics: &ResourceMetrics) -> OTelSdkResult {
        self.health
            .observe(catch_panic_async(async { self.exporter.export(metrics).await }).await)
    }

    fn force_flush(&self) -> OTelSdkResult {
        catch_panic(|| self.exporter.force_flush())
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        catch_panic(|| self.exporter.shutdown_with_timeout(timeout))
    }

    fn temporality(&self) -> Temporality {
        self.exporter.temporality()
    }
}
