//! Spans and metrics for OpenTelemetry, over OTLP.
//!
//! An [`Otel`] is a sink of a [`Collector`](tool_core::trace::Collector). It exports every span
//! that ends, under the ids of [`trace::export`](tool_core::trace::export), so that spans of other
//! processes are its children. It keeps three histograms of all spans.
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
//!     // Sends the queued spans. It blocks, so it is called outside of the async runtime.
//!     otel.shutdown()?;
//!     Ok(())
//! }
//! ```
//!
//! # Spans
//!
//! | span | name | kind | attributes |
//! |---|---|---|---|
//! | agent | `invoke_agent {name}` | internal | `gen_ai.agent.name` |
//! | tool | `execute_tool {name}` | internal | `gen_ai.tool.name`, `gen_ai.tool.type`, `gen_ai.tool.call.id`, `gen_ai.agent.name` |
//! | llm | `chat {model}` | client | `gen_ai.request.model`, `gen_ai.provider.name`, `gen_ai.response.model`, `gen_ai.response.id`, `gen_ai.agent.name` |
//! | http | its name | client | those of the HTTP client: `http.request.method`, `server.address`, .. |
//! | section | its name | internal | |
//!
//! Spans also have `gen_ai.operation.name` where one applies, and the attributes of
//! [`trace::attribute`](tool_core::trace::attribute). A failed span has the status `Error` and an `error.type`: the kind of
//! the error, `panicked` or `cancelled`. The span that recorded a use or a cost has
//! `gen_ai.usage.*` and `tool_core.cost.usd`, so that sums over spans count nothing twice. The run
//! and the customer are `tool_core.run_id` and `tool_core.customer_id`. Control characters are
//! escaped.
//!
//! # Metrics
//!
//! `gen_ai.execute_tool.duration` and `gen_ai.client.operation.duration` in seconds, and
//! `gen_ai.client.token.usage`.
//!
//! # Content and sampling
//!
//! Arguments and results of calls are exported only if the collector keeps them, in its redacted
//! form.
//! [`Otel::captures_content`] reads OpenTelemetry's variable for this,
//! `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT`.
//!
//! Spans of a trace that another process began without sampling it are not exported, as the rest of
//! the trace is missing too: see [`OtelBuilder::export_unsampled`]. Metrics count them.
//!
//! # Environment variables
//!
//! The environment sets what the builder does not: `OTEL_EXPORTER_OTLP_ENDPOINT`, `_HEADERS`,
//! `_TIMEOUT` and their forms for `TRACES` and `METRICS`; `OTEL_SERVICE_NAME`,
//! `OTEL_RESOURCE_ATTRIBUTES`; `OTEL_BSP_MAX_QUEUE_SIZE`, `OTEL_BSP_SCHEDULE_DELAY`,
//! `OTEL_METRIC_EXPORT_INTERVAL`, `OTEL_METRICS_EXPORTER=none`.
//!
//! # Failures
//!
//! Exporting never blocks a tool. Background threads send the spans of a bounded queue. A span that
//! finds the queue full is dropped and counted ([`Otel::dropped`]). The log reports the first
//! dropped span, and each time that exporting begins to fail.

mod conventions;
mod exporter;

#[cfg(test)]
mod tests;

pub use crate::otel::exporter::{Otel, OtelBuilder, OtelError};
