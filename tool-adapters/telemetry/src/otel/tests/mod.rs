//! Exported spans and metrics, and failing exporters.

mod failing;
mod metrics;
mod over_http;
mod spans;

use crate::otel::Otel;
use opentelemetry::Value;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::metrics::Temporality;
use opentelemetry_sdk::metrics::data::ResourceMetrics;
use opentelemetry_sdk::metrics::exporter::PushMetricExporter;
use opentelemetry_sdk::trace::{SpanData, SpanExporter};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;
use tool_core::trace::Collector;

/// An exporter that records spans.
#[derive(Clone, Debug, Default)]
struct SpanRecorder(Arc<Mutex<Vec<SpanData>>>);

impl SpanExporter for SpanRecorder {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        self.0.lock().extend(batch);
        Ok(())
    }
}

/// An exporter that ignores metrics.
struct MetricsSink;

impl PushMetricExporter for MetricsSink {
    async fn export(&self, _: &ResourceMetrics) -> OTelSdkResult {
        Ok(())
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }

    fn temporality(&self) -> Temporality {
        Temporality::Cumulative
    }
}

impl SpanRecorder {
    /// Returns the spans of `work`, in the order in which they ended.
    async fn record<T>(work: impl Future<Output = T>) -> Vec<SpanData> {
        let recorder = Self::default();
        let otel = Otel::otlp().build_with(recorder.clone(), MetricsSink);
        Collector::builder()
            .sink(otel.clone())
            .build()
            .run(work)
            .await;
        otel.shutdown().expect("nothing fails");
        recorder.spans()
    }

    fn spans(&self) -> Vec<SpanData> {
        self.0.lock().clone()
    }
}

fn find<'a>(spans: &'a [SpanData], name: &str) -> &'a SpanData {
    spans
        .iter()
        .find(|span| span.name == name)
        .unwrap_or_else(|| panic!("no `{name}` in {spans:?}"))
}

fn value(span: &SpanData, key: &str) -> Option<Value> {
    let mut found = span
        .attributes
        .iter()
        .filter(|attribute| attribute.key.as_str() == key);
    let value = found.next().map(|attribute| attribute.value.clone());
    assert!(found.next().is_none(), "`{key}` twice");
    value
}

fn text(span: &SpanData, key: &str) -> Option<String> {
    value(span, key).map(|value| value.to_string())
}
