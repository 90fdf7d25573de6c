//! Exporters that panic, fail, or never come back: the tool sees nothing of it. S5

use crate::telemetry::otel::export::Otel;
use crate::telemetry::otel::tests::{Kept, Nowhere};
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::metrics::Temporality;
use opentelemetry_sdk::metrics::data::ResourceMetrics;
use opentelemetry_sdk::metrics::exporter::PushMetricExporter;
use opentelemetry_sdk::trace::{SpanData, SpanExporter};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::time::Duration;
use tool_core::trace::{Collector, SpanKind, in_scope};

fn spans(otel: &Otel, count: usize) {
    let collector = Collector::builder().sink(otel.clone()).build();
    collector.run_sync(|| (0..count).for_each(|_| in_scope(SpanKind::Section, "part", || ())));
    assert_eq!(collector.report().spans().len(), count);
}

/// Panics the first time, fails the second, and then works.
#[derive(Clone, Debug, Default)]
struct Clumsy {
    times: Arc<AtomicUsize>,
    kept: Kept,
}

impl SpanExporter for Clumsy {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        match self.times.fetch_add(1, Ordering::Relaxed) {
            0 => panic!("boom"),
            1 => Err(OTelSdkError::InternalFailure("refused".to_owned())),
            _ => self.kept.export(batch).await,
        }
    }
}

// S5
#[test]
fn an_exporter_that_panics_or_fails_loses_its_batch_and_nothing_else() {
    let clumsy = Clumsy::default();
    let otel = Otel::otlp().with(clumsy.clone(), Nowhere);
    for (batch, lost) in [(3, 3), (2, 5), (4, 5)] {
        spans(&otel, batch);
        assert_eq!(otel.flush().is_err(), otel.dropped() > 0 && lost == otel.dropped() && batch < 4);
        assert_eq!(otel.dropped(), lost);
    }
    assert_eq!(clumsy.kept.spans().len(), 4);
    otel.shutdown().expect("it works again");
}

/// Comes back only when the gate is opened.
#[derive(Clone, Debug, Default)]
struct Stuck {
    open: Arc<(Mutex<bool>, Condvar)>,
    kept: Kept,
}

impl SpanExporter for Stuck {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let (open, opened) = &*self.open;
        drop(opened.wait_while(open.lock().expect("lock"), |open| !*open).expect("lock"));
        self.kept.export(batch).await
    }
}

// S5
#[test]
fn behind_an_exporter_that_is_stuck_a_bounded_number_of_spans_waits_and_the_others_are_counted() {
    let stuck = Stuck::default();
    let otel = Otel::otlp().waiting(5).with(stuck.clone(), Nowhere);
    // None of them waits for the exporter, or this test would not come further.
    spans(&otel, 1_000);
    assert_eq!(otel.dropped(), 995);
    let (open, opened) = &*stuck.open;
    *open.lock().expect("lock") = true;
    opened.notify_all();
    otel.shutdown().expect("it goes on");
    assert_eq!(stuck.kept.spans().len(), 5);
    // After the end all are dropped, and a second end is none.
    spans(&otel, 7);
    assert_eq!(otel.dropped(), 1_002);
    otel.shutdown().expect("ended");
}

/// Tells how many spans came with each batch.
#[derive(Debug)]
struct Told(mpsc::Sender<usize>);

impl SpanExporter for Told {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        self.0.send(batch.len()).map_err(|error| OTelSdkError::InternalFailure(error.to_string()))
    }
}

// S5
#[test]
fn what_waits_goes_out_when_nobody_has_said_that_it_ends() {
    let (told, batches) = mpsc::channel();
    let otel = Otel::otlp().with(Told(told), Nowhere);
    spans(&otel, 3);
    drop(otel);
    // A thread of its own does that, and with it the exporter goes.
    assert_eq!(batches.iter().sum::<usize>(), 3);
}

/// Metrics that always panic.
struct Broken(Arc<AtomicUsize>);

impl PushMetricExporter for Broken {
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
fn metrics_that_cannot_be_sent_do_not_hold_up_the_spans() {
    let (kept, times) = (Kept::default(), Arc::new(AtomicUsize::new(0)));
    let otel = Otel::otlp().with(kept.clone(), Broken(Arc::clone(&times)));
    let collector = Collector::builder().sink(otel.clone()).build();
    collector.run_sync(|| in_scope(SpanKind::Tool, "part", || ()));
    for round in 1..=2 {
        assert!(otel.flush().is_err());
        // The thread of the metrics is still there for the second round.
        assert_eq!(times.load(Ordering::Relaxed), round);
    }
    assert_eq!(kept.spans().len(), 1);
    let error = otel.shutdown().expect_err("the last ones");
    assert!(error.to_string().starts_with("not all metrics could be exported"), "{error}");
}

// S5
#[test]
fn without_metrics_nothing_is_asked_of_their_exporter() {
    let times = Arc::new(AtomicUsize::new(0));
    let otel = Otel::otlp().metrics(false).with(Kept::default(), Broken(Arc::clone(&times)));
    spans(&otel, 1);
    otel.shutdown().expect("only spans");
    assert_eq!(times.load(Ordering::Relaxed), 0);
}
