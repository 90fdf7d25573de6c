//! Between the SDK and the exporters: what waits is counted, and what panics is caught. S5

use crate::telemetry::otel::OtelError;
use futures_util::FutureExt;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::metrics::Temporality;
use opentelemetry_sdk::metrics::data::ResourceMetrics;
use opentelemetry_sdk::metrics::exporter::PushMetricExporter;
use opentelemetry_sdk::trace::{SpanData, SpanExporter};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How many spans wait, and how many did not make it.
#[derive(Debug)]
pub(crate) struct Queue {
    most: usize,
    waiting: AtomicUsize,
    dropped: AtomicU64,
    overflowed: AtomicBool,
    closed: AtomicBool,
}

impl Queue {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            waiting: AtomicUsize::new(0),
            dropped: AtomicU64::new(0),
            overflowed: AtomicBool::new(false),
            closed: AtomicBool::new(false),
        }
    }

    /// Whether there is room for one more, which then has its place.
    pub(crate) fn admits(&self) -> bool {
        let has_room = |waiting: usize| (waiting < self.most).then_some(waiting + 1);
        if !self.is_closed() && self.waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, has_room).is_ok() {
            return true;
        }
        self.dropped.fetch_add(1, Ordering::Relaxed);
        if !self.is_closed() && !self.overflowed.swap(true, Ordering::Relaxed) {
            tracing::warn!(most = self.most, "spans are dropped: they end faster than they can be exported");
        }
        false
    }

    fn left(&self, spans: usize, lost: bool) {
        self.waiting.fetch_sub(spans, Ordering::Relaxed);
        if lost {
            self.dropped.fetch_add(spans as u64, Ordering::Relaxed);
        }
    }

    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Whether this was the first to close it.
    pub(crate) fn close(&self) -> bool {
        !self.closed.swap(true, Ordering::Relaxed)
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }
}

/// What fails now, and why. The log is told once, until it works again.
#[derive(Debug)]
pub(crate) struct Failing {
    what: &'static str,
    why: Mutex<Option<String>>,
}

impl Failing {
    pub(crate) fn new(what: &'static str) -> Self {
        Self { what, why: Mutex::default() }
    }

    fn why(&self) -> MutexGuard<'_, Option<String>> {
        self.why.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look(&self, result: &OTelSdkResult) {
        let why = result.as_ref().err().map(ToString::to_string);
        let mut before = self.why();
        if let (None, Some(error)) = (&*before, &why) {
            tracing::warn!(error = %error, "{} cannot be exported; look at the OTLP endpoint", self.what);
        }
        *before = why;
    }

    /// What is told of a result that the SDK gives: it mostly knows less of the cause.
    pub(crate) fn told(&self, result: OTelSdkResult) -> Result<(), OtelError> {
        result.map_err(|error| {
            let why = self.why().clone().unwrap_or_else(|| error.to_string());
            OtelError::unsent(self.what, &why)
        })
    }
}

/// What an exporter does, whatever it does.
async fn caught(exporting: impl Future<Output = OTelSdkResult>) -> OTelSdkResult {
    let caught = AssertUnwindSafe(exporting).catch_unwind().await;
    caught.unwrap_or_else(|_| Err(OTelSdkError::InternalFailure("the exporter panicked".to_owned())))
}

fn caught_now(work: impl FnOnce() -> OTelSdkResult) -> OTelSdkResult {
    let panicked = |_| Err(OTelSdkError::InternalFailure("the exporter panicked".to_owned()));
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(panicked)
}

/// An exporter of spans, guarded.
pub(crate) struct Spans<E> {
    exporter: E,
    queue: Arc<Queue>,
    failing: Arc<Failing>,
}

impl<E> Spans<E> {
    pub(crate) fn new(exporter: E, queue: Arc<Queue>, failing: Arc<Failing>) -> Self {
        Self { exporter, queue, failing }
    }
}

impl<E> fmt::Debug for Spans<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The exporter knows headers, and those hold keys.
        f.debug_struct("Spans").field("queue", &self.queue).finish_non_exhaustive()
    }
}

impl<E: SpanExporter> SpanExporter for Spans<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let spans = batch.len();
        // The call itself may panic too.
        let result = caught(async { self.exporter.export(batch).await }).await;
        self.queue.left(spans, result.is_err());
        self.failing.look(&result);
        result
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        caught_now(|| self.exporter.shutdown_with_timeout(timeout))
    }

    fn force_flush(&self) -> OTelSdkResult {
        caught_now(|| self.exporter.force_flush())
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

/// An exporter of metrics, guarded.
pub(crate) struct Metrics<E> {
    exporter: E,
    failing: Arc<Failing>,
}

impl<E> Metrics<E> {
    pub(crate) fn new(exporter: E, failing: Arc<Failing>) -> Self {
        Self { exporter, failing }
    }
}

impl<E: PushMetricExporter> PushMetricExporter for Metrics<E> {
    async fn export(&self, metrics: &ResourceMetrics) -> OTelSdkResult {
        let result = caught(async { self.exporter.export(metrics).await }).await;
        self.failing.look(&result);
        result
    }

    fn force_flush(&self) -> OTelSdkResult {
        caught_now(|| self.exporter.force_flush())
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        caught_now(|| self.exporter.shutdown_with_timeout(timeout))
    }

    fn temporality(&self) -> Temporality {
        self.exporter.temporality()
    }
}
