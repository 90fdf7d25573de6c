//! Exporters that panic, fail or hang do not affect tools.

use crate::otel::Otel;
use crate::otel::tests::{MetricsSink, SpanRecorder};
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::metrics::Temporality;
use opentelemetry_sdk::metrics::data::ResourceMetrics;
use opentelemetry_sdk::metrics::exporter::PushMetricExporter;
use opentelemetry_sdk::trace::{SpanData, SpanExporter};
use parking_lot::{Condvar, Mutex};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;
use tool_core::trace::{Collector, SpanKind, in_scope};

fn spans(otel: &Otel, count: usize) {
    let collector = Collector::builder().sink(otel.clone()).build();
    collector.run_sync(|| (0..count).for_each(|_| in_scope(SpanKind::Section, "part", || ())));
    assert_eq!(collector.report().spans().len(), count);
}

/// An exporter that panics first, then fails, and then works.
#[derive(Clone, Debug, Default)]
struct FlakyExporter {
    times: Arc<AtomicUsize>,
    recorder: SpanRecorder,
}

impl SpanExporter for FlakyExporter {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        match self.times.fetch_add(1, Ordering::Relaxed) {
            0 => panic!("boom"),
            1 => Err(OTelSdkError::InternalFailure("refused".to_owned())),
            _ => self.recorder.export(batch).await,
        }
    }
}

// S5
#[test]
fn a_failing_exporter_loses_only_its_batch() {
    let flaky = FlakyExporter::default();
    let otel = Otel::otlp().build_with(flaky.clone(), MetricsSink);
    for (batch, lost) in [(3, 3), (2, 5), (4, 5)] {
        spans(&otel, batch);
        assert_eq!(
            otel.flush().is_err(),
            otel.dropped() > 0 && lost == otel.dropped() && batch < 4
        );
        assert_eq!(otel.dropped(), lost);
    }
    assert_eq!(flaky.recorder.spans().len(), 4);
    otel.shutdown().expect("it works again");
}

/// An exporter that blocks until it is released.
#[derive(Clone, Debug, Default)]
struct StuckExporter {
    open: Arc<(Mutex<bool>, Condvar)>,
    recorder: SpanRecorder,
}

impl SpanExporter for StuckExporter {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let (open, opened) = &*self.open;
        opened.wait_while(&mut open.lock(), |open| !*open);
        self.recorder.export(batch).await
    }
}

// S5
#[test]
fn bounds_the_queue_of_a_stuck_exporter_and_counts_drops() {
    let stuck = StuckExporter::default();
    let otel = Otel::otlp()
        .max_queue_size(5)
        .build_with(stuck.clone(), MetricsSink);
    // Blocks forever if a span waits for the exporter.
    spans(&otel, 1_000);
    assert_eq!(otel.dropped(), 995);
    let (open, opened) = &*stuck.open;
    *open.lock() = true;
    opened.notify_all();
    otel.shutdown().expect("it goes on");
    assert_eq!(stuck.recorder.spans().len(), 5);
    // After the shutdown spans are dropped, and a second shutdown does nothing.
    spans(&otel, 7);
    assert_eq!(otel.dropped(), 1_002);
    otel.shutdown().expect("ended");
}

/// An exporter that reports the size of each batch.
#[derive(Debug)]
struct BatchSizes(mpsc::Sender<usize>);

impl SpanExporter for BatchSizes {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        self.0
            .send(batch.len())
            .map_err(|error| OTelSdkError::InternalFailure(error.to_string()))
    }
}

// S5
#[test]
fn sends_queued_spans_when_dropped_without_shutdown() {
    let (sizes, batches) = mpsc::channel();
    let otel = Otel::otlp().build_with(BatchSizes(sizes), MetricsSink);
    spans(&otel, 3);
    drop(otel);
    // A thread sends them, and drops the exporter.
    assert_eq!(batches.iter().sum::<usize>(), 3);
}

/// An exporter of metrics that always panics.
struct PanickingMetrics(Arc<AtomicUsize>);

impl PushMetricExporter for PanickingMetrics {
    async fn export(&self, _: &ResourceMetrics) -> OTelSdkResult {
        self.0.fetch_add(1, Ordering::Relaxed);
        panic!("boom")
    }

    fn force_flush(&self) -> OTelSdkResult {
        panic!("boom")
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        panic!("boom")
    }

    fn temporality(&self) -> Temporality {
        Temporality::Cumulative
    }
}

// S5
#[test]
fn failing_metrics_do_not_affect_spans() {
    let recorder = SpanRecorder::default();
    let times = Arc::new(AtomicUsize::new(0));
    let otel = Otel::otlp().build_with(recorder.clone(), PanickingMetrics(Arc::clone(&times)));
    let collector = Collector::builder().sink(otel.clone()).build();
    collector.run_sync(|| in_scope(SpanKind::Tool, "part", || ()));
    for round in 1..=2 {
        assert!(otel.flush().is_err());
        // The thread of the metrics survives the first panic.
        assert_eq!(times.load(Ordering::Relaxed), round);
    }
    assert_eq!(recorder.spans().len(), 1);
    let error = otel.shutdown().expect_err("the last ones");
    assert!(
        error
            .to_string()
            .starts_with("failed to export all metrics"),
        "{error}"
    );
}

// S5
#[test]
fn does_not_call_the_exporter_of_disabled_metrics() {
    let times = Arc::new(AtomicUsize::new(0));
    let otel = Otel::otlp().metrics(false).build_with(
        SpanRecorder::default(),
        PanickingMetrics(Arc::clone(&times)),
    );
    spans(&otel, 1);
    otel.shutdown().expect("only spans");
    assert_eq!(times.load(Ordering::Relaxed), 0);
}
