//! What leaves, and what happens when it cannot.

pub(crate) mod failing;
pub(crate) mod metrics;
pub(crate) mod over_http;
pub(crate) mod spans;

use crate::telemetry::otel::export::Otel;
use opentelemetry::Value;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::metrics::Temporality;
use opentelemetry_sdk::metrics::data::ResourceMetrics;
use opentelemetry_sdk::metrics::exporter::PushMetricExporter;
use opentelemetry_sdk::trace::{SpanData, SpanExporter};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tool_core::trace::Collector;

/// Keeps the spans that come.
#[derive(Clone, Debug, Default)]
struct Kept(Arc<Mutex<Vec<SpanData>>>);

impl SpanExporter for Kept {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        self.0.lock().expect("lock").extend(batch);
        Ok(())
    }
}

/// Takes metrics and forgets them.
struct Nowhere;

impl PushMetricExporter for Nowhere {
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

impl Kept {
    /// The spans that `work` sends, in the order in which they ended.
    async fn of<T>(work: impl Future<Output = T>) -> Vec<SpanData> {
        let kept = Self::default();
        let otel = Otel::otlp().with(kept.clone(), Nowhere);
        Collector::builder().sink(otel.clone()).build().run(work).await;
        otel.shutdown().expect("nothing fails");
        kept.spans()
    }

    fn spans(&self) -> Vec<SpanData> {
        self.0.lock().expect("lock").clone()
    }
}

fn named<'a>(spans: &'a [SpanData], name: &str) -> &'a SpanData {
    spans.iter().find(|span| span.name == name).unwrap_or_else(|| panic!("no `{name}` in {spans:?}"))
}

fn value(span: &SpanData, key: &str) -> Option<Value> {
    let mut found = span.attributes.iter().filter(|attribute| attribute.key.as_str() == key);
    let value = found.next().map(|attribute| attribute.value.clone());
    assert!(found.next().is_none(), "`{key}` twice");
    value
}

fn text(span: &SpanData, key: &str) -> Option<String> {
    value(span, key).map(|value| value.to_string())
}
