//! Spans and metrics to OpenTelemetry, over OTLP.
//!
//! An [`Otel`] is a sink of a [`Collector`](tool_core::trace::Collector): every span that ends goes out under the ids
//! that [`trace::export`](tool_core::trace::export) gave, so that other processes hang below it, and three histograms
//! are kept of all of them.
//!
//! ```no_run
//! use tool_adapters::telemetry::otel::Otel;
//! use tool_core::trace::{self, Collector};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let otel = Otel::otlp().endpoint("http://localhost:4318").service_name("concierge").build()?;
//!     let collector = Collector::builder().sink(otel.clone()).content(Otel::captures_content()).build();
//!     let tokio = tokio::runtime::Runtime::new()?;
//!     tokio.block_on(collector.run(trace::agent("planner", async { /* tools, models, requests */ })));
//!     // What waits goes out. It blocks, so it comes after the runtime's work.
//!     otel.shutdown()?;
//!     Ok(())
//! }
//! ```
//!
//! # What is sent
//!
//! | span | name | kind | attributes |
//! |---|---|---|---|
//! | agent | `invoke_agent {name}` | internal | `gen_ai.agent.name` |
//! | tool | `execute_tool {name}` | internal | `gen_ai.tool.name`, `gen_ai.tool.type`, `gen_ai.tool.call.id`, `gen_ai.agent.name` |
//! | llm | `chat {model}` | client | `gen_ai.request.model`, `gen_ai.provider.name`, `gen_ai.response.model`, `gen_ai.response.id`, `gen_ai.agent.name` |
//! | http | as it is called | client | what the client says: `http.request.method`, `server.address`, .. |
//! | section | as it is called | internal | |
//!
//! All have `gen_ai.operation.name` where there is one, `error.type` where they failed (the kind of the error, `panicked`
//! or `cancelled`; the status is an error for these three), and what [`trace::attribute`](tool_core::trace::attribute)
//! said. The span that paid has `gen_ai.usage.*` and `tool_core.cost.usd`, so sums over spans count nothing twice. A run
//! and a customer are `tool_core.run_id` and `tool_core.customer_id`. Control characters are escaped.
//!
//! The metrics are `gen_ai.execute_tool.duration`, `gen_ai.client.operation.duration` (in seconds) and
//! `gen_ai.client.token.usage`.
//!
//! Arguments and results of calls go out only if the collector keeps them, redacted as it keeps them. Unless the host
//! decides for itself, [`Otel::captures_content`] reads what OpenTelemetry has for that, the variable
//! `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT`.
//!
//! Of a trace that began in a process which does not sample it, no spans go out, as the rest of it is not there either:
//! see [`OtelBuilder::unsampled`]. Metrics count them all the same.
//!
//! # What is not told comes from the environment
//!
//! `OTEL_EXPORTER_OTLP_ENDPOINT`, `_HEADERS`, `_TIMEOUT` and their forms for `TRACES` and `METRICS`;
//! `OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES`; `OTEL_BSP_MAX_QUEUE_SIZE`, `OTEL_BSP_SCHEDULE_DELAY`,
//! `OTEL_METRIC_EXPORT_INTERVAL`, `OTEL_METRICS_EXPORTER=none`.
//!
//! # When the other side is down
//!
//! Nothing waits for it: spans stand in a bounded queue, threads of their own send them, and a span that finds the queue
//! full is dropped and counted ([`Otel::dropped`]). The log says so once, and once whenever sending begins to fail.

mod export;
mod guard;
mod metrics;

#[cfg(test)]
mod tests;

pub use crate::telemetry::otel::export::Otel;

use crate::telemetry::otel::export::Sending;
use crate::telemetry::otel::guard::{Failing, Metrics, Queue, Spans};
use opentelemetry::KeyValue;
use opentelemetry_otlp::{ExporterBuildError, MetricExporter, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::exporter::PushMetricExporter;
use opentelemetry_sdk::metrics::{PeriodicReader, SdkMeterProvider};
use opentelemetry_sdk::trace::{BatchConfigBuilder, BatchSpanProcessor, SpanExporter as Exporter, SpanProcessor};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

// ---- Where it goes, and under which name.

/// How many spans wait, unless told otherwise.
const WAITING: usize = 2_048;

/// Puts an [`Otel`] together. What it is not told comes from OpenTelemetry's environment variables, and then from
/// OpenTelemetry's defaults: `http://localhost:4318`.
#[must_use]
pub struct OtelBuilder {
    endpoint: Option<String>,
    headers: HashMap<String, String>,
    service_name: Option<String>,
    resource: Vec<KeyValue>,
    timeout: Option<Duration>,
    interval: Duration,
    waiting: Option<usize>,
    metrics: bool,
    content: bool,
    unsampled: bool,
}

impl OtelBuilder {
    pub(crate) fn new() -> Self {
        Self {
            endpoint: None,
            headers: HashMap::new(),
            service_name: None,
            resource: Vec::new(),
            timeout: None,
            // Zero is what the environment says, or else a minute.
            interval: Duration::ZERO,
            waiting: None,
            metrics: !std::env::var("OTEL_METRICS_EXPORTER").is_ok_and(|exporter| exporter.trim() == "none"),
            content: true,
            unsampled: false,
        }
    }

    /// Where the receiver is, up to where its paths begin: `http://localhost:4318`. OTLP over HTTP, not over gRPC.
    pub fn endpoint(mut self, url: impl Into<String>) -> Self {
        self.endpoint = Some(url.into());
        self
    }

    /// A header of every request, such as a key.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.insert(name.into(), value.into());
        self
    }

    /// Who sends this: `service.name`.
    pub fn service_name(mut self, name: impl Into<String>) -> Self {
        self.service_name = Some(name.into());
        self
    }

    /// What else is to be known of the sender: `deployment.environment.name`.
    pub fn resource(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.resource.push(KeyValue::new(key.into(), value.into()));
        self
    }

    /// Whether metrics are kept and sent; they are unless told otherwise, here or by `OTEL_METRICS_EXPORTER=none`. Some
    /// receivers take spans only.
    pub fn metrics(mut self, sent: bool) -> Self {
        self.metrics = sent;
        self
    }

    /// How long a request may take; 10 seconds unless told.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// How often metrics are sent; every minute unless told.
    pub fn metrics_every(mut self, interval: Duration) -> Self {
        self.interval = interval;
        self
    }

    /// How many spans wait at most; 2,048 unless told. Those that end while so many wait are dropped.
    pub fn waiting(mut self, spans: usize) -> Self {
        self.waiting = Some(spans.max(1));
        self
    }

    /// Whether the arguments and results that the collector keeps go out; they do unless told otherwise.
    pub fn content(mut self, sent: bool) -> Self {
        self.content = sent;
        self
    }

    /// Whether spans go out of a trace that began in a process which does not sample it; not unless told.
    pub fn unsampled(mut self, sent: bool) -> Self {
        self.unsampled = sent;
        self
    }

    /// Begins to export.
    ///
    /// # Errors
    /// The endpoint is no address, or the HTTP client cannot be made. Whether anybody is there is not looked at.
    pub fn build(self) -> Result<Otel, OtelError> {
        let mut spans = SpanExporter::builder().with_http().with_headers(self.headers.clone());
        let mut metrics = MetricExporter::builder().with_http().with_headers(self.headers.clone());
        if let Some(url) = &self.endpoint {
            let base = base(url)?;
            spans = spans.with_endpoint(format!("{base}/v1/traces"));
            metrics = metrics.with_endpoint(format!("{base}/v1/metrics"));
        }
        if let Some(timeout) = self.timeout {
            (spans, metrics) = (spans.with_timeout(timeout), metrics.with_timeout(timeout));
        }
        Ok(self.with(spans.build()?, metrics.build()?))
    }

    /// With these exporters.
    pub(crate) fn with(self, spans: impl Exporter + 'static, metrics: impl PushMetricExporter) -> Otel {
        let mut resource = Resource::builder().with_attributes(self.resource);
        if let Some(name) = self.service_name {
            resource = resource.with_service_name(name);
        }
        let resource = resource.build();
        let waiting = self.waiting.or_else(waiting_of_environment).unwrap_or(WAITING);
        let queue = Arc::new(Queue::new(waiting));
        let config = BatchConfigBuilder::default().with_max_queue_size(waiting).build();
        let (of_spans, of_metrics) = (Arc::new(Failing::new("spans")), Arc::new(Failing::new("metrics")));
        let guarded = Spans::new(spans, Arc::clone(&queue), Arc::clone(&of_spans));
        let mut processor = BatchSpanProcessor::new(guarded, config);
        processor.set_resource(&resource);
        let mut meters = SdkMeterProvider::builder().with_resource(resource);
        if self.metrics {
            let guarded = Metrics::new(metrics, Arc::clone(&of_metrics));
            meters = meters.with_reader(PeriodicReader::builder(guarded).with_interval(self.interval).build());
        }
        let sending = Sending { spans: processor, of_spans, meters: meters.build(), of_metrics };
        Otel::new(sending, queue, self.content, self.unsampled)
    }
}

fn waiting_of_environment() -> Option<usize> {
    std::env::var("OTEL_BSP_MAX_QUEUE_SIZE").ok()?.parse().ok().filter(|spans| *spans > 0)
}

/// The address without a slash at its end. It is not told again in an error, as it may hold a password.
fn base(url: &str) -> Result<&str, OtelError> {
    let is_http = ["http://", "https://"].iter().any(|scheme| url.starts_with(scheme));
    let problem = "the OTLP endpoint is no HTTP address; give it as `http://localhost:4318`";
    is_http.then(|| url.trim_end_matches('/')).ok_or_else(|| OtelError(problem.to_owned()))
}

/// Spans and metrics cannot be exported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtelError(String);

impl fmt::Display for OtelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for OtelError {}

impl From<ExporterBuildError> for OtelError {
    /// Which setting it is, and not what it says: an address may hold a password.
    fn from(error: ExporterBuildError) -> Self {
        let problem = match &error {
            ExporterBuildError::InvalidConfiguration(text) => {
                let setting = text.split(':').next().unwrap_or_default();
                format!("`{setting}` is not valid")
            }
            ExporterBuildError::InternalFailure(text) => text.clone(),
        };
        Self(format!(
            "the OTLP exporter cannot be built: {problem}; look at its endpoint and at `OTEL_EXPORTER_OTLP_*`"
        ))
    }
}

impl OtelError {
    pub(crate) fn unsent(what: &str, error: &str) -> Self {
        Self(format!("not all {what} could be exported: {error}; look at the OTLP endpoint"))
    }
}
