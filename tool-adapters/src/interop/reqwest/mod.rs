//! Spans for the requests of a [`reqwest`](https://docs.rs/reqwest) client, and propagation of traces through HTTP.
//!
//! [`TraceMiddleware`] opens a span for each request (`http:POST api.openai.com`). The span ends with the last byte of the
//! response's body, or when the body is dropped. If the response is a known provider's, its token usage is read as the
//! body passes and counts for the span around the request. Inside an `llm` span that records usage with
//! [`trace::record`](tool_core::trace::record), only the recorded usage counts. So a tool that calls a model with its own
//! client has its cost.
//!
//! ```
//! use reqwest_middleware::ClientBuilder;
//! use tool_adapters::interop::reqwest::TraceMiddleware;
//!
//! let client = ClientBuilder::new(reqwest::Client::new()).with(TraceMiddleware::new()).build();
//! ```
//!
//! Behind a middleware that retries, each attempt has its own span.
//!
//! # Propagation
//!
//! Requests to the hosts of [`TraceMiddleware::propagate_to`] carry the trace (`traceparent`, `tracestate`, `baggage`).
//! Requests to other hosts do not, as the baggage names the run and the customer. A redirect would carry the headers to
//! another host, so the client needs a redirect policy that stops this; [`TraceMiddleware::client`] sets one.
//!
//! ```
//! use tool_adapters::interop::reqwest::TraceMiddleware;
//!
//! # fn main() -> Result<(), reqwest::Error> {
//! let client = TraceMiddleware::new().propagate_to(["stock.internal:8080"]).client(reqwest::Client::builder())?;
//! # Ok(())
//! # }
//! ```
//!
//! A server continues the trace of a request with [`extract`]:
//!
//! ```
//! use tool_adapters::interop::reqwest::extract;
//! use tool_core::trace;
//!
//! async fn stock(headers: http::HeaderMap) -> u32 {
//!     trace::import(extract(&headers), trace::agent("stock", async { 12 })).await
//! }
//! ```

mod middleware;
mod propagation;

pub use crate::interop::reqwest::middleware::TraceMiddleware;
pub use crate::interop::reqwest::propagation::{extract, extract_trusted};
