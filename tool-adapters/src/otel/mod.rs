//! Spans and metrics to OpenTelemetry, over OTLP.
//!
//! An [`Otel`] is a sink of a [`Collector`](tool_core::trace::Collector): every span that ends goes out under the ids
//! that [`trace::export`](tool_core::trace::export) gave, so that other processes hang below it, and three histograms
//! are kept of all of them.
//!
//! ```no_run
//! use tool_adapters::otel::Otel;
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

mod attributes;
mod build;
mod guard;
mod metrics;
mod names;
mod sink;
mod span;

#[cfg(test)]
mod tests;

pub use build::{OtelBuilder, OtelError};
pub use sink::Otel;
