//! Exporters that count what waits and what is lost, catch panics, and log failures once.

use futures_util::FutureExt;
use opentelemetry_otlp::ExporterBuildError;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::metrics::Temporality;
use opentelemetry_sdk::metrics::data::ResourceMetrics;
use opentelemetry_sdk::metrics::exporter::PushMetricExporter;
use opentelemetry_sdk::trace::{SpanData, SpanExporter};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// An error of building an exporter, or of exporting.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OtelError {
    /// The endpoint is not an HTTP URL. The error does not repeat it, as a URL may hold a password.
    #[error("expected the OTLP endpoint to be an HTTP URL such as `http://localhost:4318`")]
    InvalidEndpoint,
    /// The exporter could not be built. The text names an invalid setting without its value, which may hold a password.
    #[error("failed to build the OTLP exporter: {0}; check its endpoint and `OTEL_EXPORTER_OTLP_*`")]
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
#[derive(Debug)]
pub(crate) struct SpanQueue {
    capacity: usize,
    waiting: AtomicUsize,
    dropped: AtomicU64,
    overflowed: AtomicBool,
    closed: AtomicBool,
}

impl SpanQueue {
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            capacity,
            waiting: AtomicUsize::new(0),
            dropped: AtomicU64::new(0),
            overflowed: AtomicBool::new(false),
            closed: AtomicBool::new(false),
        }
    }

    /// Reserves room for a span. Returns false, and counts the span as dropped, if there is none.
    pub(crate) fn admit(&self) -> bool {
        let reserve = |waiting: usize| (waiting < self.capacity).then_some(waiting + 1);
        if !self.is_closed() && self.waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, reserve).is_ok() {
            return true;
        }
        self.dropped.fetch_add(1, Ordering::Relaxed);
        if !self.is_closed() && !self.overflowed.swap(true, Ordering::Relaxed) {
            tracing::warn!(capacity = self.capacity, "dropped a span: the queue of the exporter is full");
        }
        false
    }

    fn release(&self, spans: usize, lost: bool) {
        self.waiting.fetch_sub(spans, Ordering::Relaxed);
        if lost {
            self.dropped.fetch_add(spans as u64, Ordering::Relaxed);
        }
    }

    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Closes the queue. Returns true for the first call.
    pub(crate) fn close(&self) -> bool {
        !self.closed.swap(true, Ordering::Relaxed)
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }
}

/// The result of the last export. Logs a failure once, until an export succeeds.
#[derive(Debug)]
pub(crate) struct ExportHealth {
    signal: &'static str,
    error: Mutex<Option<Arc<OTelSdkError>>>,
}

impl ExportHealth {
    pub(crate) fn new(signal: &'static str) -> Self {
        Self { signal, error: Mutex::default() }
    }

    /// Remembers the result of an export, and passes it on.
    fn observe(&self, result: OTelSdkResult) -> OTelSdkResult {
        let mut last = self.error.lock().unwrap_or_else(PoisonError::into_inner);
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

    /// Converts a result of the SDK. Prefers the error of the last export, which says more of the cause.
    pub(crate) fn check(&self, result: OTelSdkResult) -> Result<(), OtelError> {
        result.map_err(|error| {
            let last = self.error.lock().unwrap_or_else(PoisonError::into_inner).clone();
            OtelError::Export { signal: self.signal, source: last.unwrap_or_else(|| Arc::new(error)) }
        })
    }
}

fn panicked() -> OTelSdkError {
    OTelSdkError::InternalFailure("the exporter panicked".to_owned())
}

async fn catch_panic_async(export: impl Future<Output = OTelSdkResult>) -> OTelSdkResult {
    AssertUnwindSafe(export).catch_unwind().await.unwrap_or_else(|_| Err(panicked()))
}

fn catch_panic(work: impl FnOnce() -> OTelSdkResult) -> OTelSdkResult {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(panicked()))
}

pub(crate) struct GuardedSpanExporter<E> {
    exporter: E,
    queue: Arc<SpanQueue>,
    health: Arc<ExportHealth>,
}

impl<E> GuardedSpanExporter<E> {
    pub(crate) fn new(exporter: E, queue: Arc<SpanQueue>, health: Arc<ExportHealth>) -> Self {
        Self { exporter, queue, health }
    }
}

impl<E> fmt::Debug for GuardedSpanExporter<E> {
    /// Leaves out the exporter, whose headers may hold keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GuardedSpanExporter").field("queue", &self.queue).finish_non_exhaustive()
    }
}

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

pub(crate) struct GuardedMetricExporter<E> {
    exporter: E,
    health: Arc<ExportHealth>,
}

impl<E> GuardedMetricExporter<E> {
    pub(crate) fn new(exporter: E, health: Arc<ExportHealth>) -> Self {
        Self { exporter, health }
    }
}

impl<E: PushMetricExporter> PushMetricExporter for GuardedMetricExporter<E> {
    async fn export(&self, metrics: &ResourceMetrics) -> OTelSdkResult {
        self.health.observe(catch_panic_async(async { self.exporter.export(metrics).await }).await)
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
