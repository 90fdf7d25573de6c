//! Metrics over HTTP: `/metrics` for Prometheus, and the same figures as JSON.
//!
//! ```no_run
//! use tool_adapters::telemetry::prometheus;
//! use tool_core::{Runtime, ToolContext};
//!
//! # async fn serve() -> Result<(), Box<dyn std::error::Error>> {
//! let runtime = Runtime::builder(ToolContext::discover()?).build()?;
//! prometheus::router(&runtime).serve(([127, 0, 0, 1], 9464).into()).await?;
//! # Ok(())
//! # }
//! ```
//!
//! - `GET /metrics`: Prometheus's text format, or the JSON document if `Accept` prefers
//!   `application/json` to text
//! - `GET /metrics.json`: the JSON document
//!
//! Other methods are answered 405. A request needs an allowed `Host`, and an allowed `Origin` if it has one. By default the
//! loopback names are allowed. Names of tools and models may tell others what a program does, so an address that other
//! machines can reach also needs a [`bearer_token`](MetricsRouter::bearer_token).

pub use tool_adapters_http::serve::BoundServer;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use tool_adapters_http::access::AccessRules;
use tool_adapters_http::bearer::BearerToken;
use tool_adapters_http::serve::HttpLimits;
use tool_core::session::PrometheusText;
use tool_core::trace::{Collector, CostSummary, Totals};
use tool_core::{CancellationToken, Runtime};

/// Creates a router for the metrics of a runtime.
pub fn router(runtime: &Runtime) -> MetricsRouter {
    let sources = MetricsSources {
        runtime: runtime.clone(),
        collector: None,
    };
    MetricsRouter {
        sources,
        access: AccessRules::default(),
    }
}

/// A router for the metrics of a runtime. It can be merged into an application's router, or served
/// alone.
///
/// ```
/// # use tool_adapters::telemetry::prometheus;
/// # use tool_core::{Runtime, ToolContext};
/// fn app(runtime: &Runtime) -> axum::Router {
///     axum::Router::new().merge(prometheus::router(runtime))
/// }
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct MetricsRouter {
    sources: MetricsSources,
    access: AccessRules,
}

#[derive(Clone, Debug)]
struct MetricsSources {
    runtime: Runtime,
    collector: Option<Collector>,
}

impl MetricsRouter {
    /// Adds the costs of a collector's spans, by agent, tool and model.
    pub fn collector(mut self, collector: &Collector) -> Self {
        self.sources.collector = Some(collector.clone());
        self
    }

    /// Sets the allowed values of the `Host` header, in place of the loopback names: `name` for any
    /// port, or `name:port`.
    pub fn allow_hosts<T: Into<String>>(mut self, hosts: impl IntoIterator<Item = T>) -> Self {
        self.access.hosts = Some(hosts.into_iter().map(Into::into).collect());
        self
    }

    /// Sets the allowed values of the `Origin` header, in place of the loopback names:
    /// `https://app.example`, or `http://localhost:*` for any port.
    pub fn allow_origins<T: Into<String>>(mut self, origins: impl IntoIterator<Item = T>) -> Self {
        self.access.origins = Some(origins.into_iter().map(Into::into).collect());
        self
    }

    /// Sets the token that each request has to send as `Authorization: Bearer ..`: at least 16
    /// visible ASCII characters. The router keeps its hash only, and serves no request if the text
    /// is not a token.
    pub fn bearer_token(mut self, token: impl AsRef<str>) -> Self {
        self.access.token = Some(BearerToken::new(token.as_ref()));
        self
    }

    /// Allows an address that other machines can reach without a token. Defaults to false.
    pub fn allow_anonymous(mut self, yes: bool) -> Self {
        self.access.allow_anonymous = yes;
        self
    }

    /// Binds an address.
    ///
    /// # Errors
    ///
    /// Returns an error if the text of the token is not one, or if the address is not a loopback
    /// address and
    /// [`allow_hosts`](Self::allow_hosts), or both [`bearer_token`](Self::bearer_token) and
    /// [`allow_anonymous`](Self::allow_anonymous), are not set.
    pub async fn bind(self, address: SocketAddr) -> io::Result<BoundServer> {
        let access = self.access.clone();
        let shutdown = CancellationToken::new();
        access
            .bind(
                address,
                self.into(),
                "/metrics",
                shutdown,
                HttpLimits::default(),
                None,
            )
            .await
    }

    /// Binds an address and serves until the future is dropped.
    pub async fn serve(self, address: SocketAddr) -> io::Result<()> {
        self.bind(address).await?.serve().await
    }
}

impl From<MetricsRouter> for Router {
    fn from(router: MetricsRouter) -> Self {
        let MetricsRouter { sources, access } = router;
        let json = get(async |State(sources): State<MetricsSources>| sources.json_response());
        let metrics = Router::new()
            .route("/metrics", get(serve_metrics))
            .route("/metrics.json", json);
        access.guard(metrics.with_state(sources))
    }
}

async fn serve_metrics(State(sources): State<MetricsSources>, headers: HeaderMap) -> Response {
    if prefers_json(&headers) {
        sources.json_response()
    } else {
        sources.text_response()
    }
}

/// Creates a response that is neither cached nor sniffed for another type.
fn respond(content_type: &'static str, body: String) -> Response {
    let headers = [
        (header::CONTENT_TYPE, content_type),
        (header::CACHE_CONTROL, "no-store"),
        (header::VARY, "accept"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (headers, body).into_response()
}

impl MetricsSources {
    fn text_response(&self) -> Response {
        let mut text = self.runtime.metrics().prometheus();
        if let Some(collector) = &self.collector {
            text.push_str(&costs_text(&collector.totals()));
        }
        respond("text/plain; version=0.0.4; charset=utf-8", text)
    }

    fn json_response(&self) -> Response {
        let mut document = serde_json::to_value(self.runtime.metrics()).unwrap_or_default();
        if let (Some(collector), Some(members)) = (&self.collector, document.as_object_mut()) {
            members.insert("cost".to_owned(), costs_json(&collector.totals()));
        }
        respond("application/json", document.to_string())
    }
}

/// Returns the costs of a collector's spans as Prometheus text. The collector limits the number of
/// names.
fn costs_text(totals: &Totals) -> String {
    let mut text = PrometheusText::default();
    let name = "tool_cost_dollars_total";
    text.family(
        name,
        "counter",
        "Cost of models and services in dollars. Untracked cost has no agent, tool or model span.",
    );
    for (tracked, sum) in [("true", &totals.tracked), ("false", &totals.untracked)] {
        text.sample(name, &[("tracked", tracked)], sum.cost.decimal());
    }
    let families = [
        (
            "tool_cost_by_agent_dollars_total",
            "agent",
            "Cost of an agent in dollars.",
            &totals.agents,
        ),
        (
            "tool_cost_by_tool_dollars_total",
            "tool",
            "Cost of the calls of a tool in dollars.",
            &totals.tools,
        ),
        (
            "tool_cost_by_model_dollars_total",
            "model",
            "Cost of a model in dollars.",
            &totals.models,
        ),
    ];
    for (name, label, help, sums) in families {
        text.family(name, "counter", help);
        for (value, sum) in sums {
            text.sample(name, &[(label, value)], sum.cost.decimal());
        }
    }
    let name = "tool_model_tokens_total";
    text.family(
        name,
        "counter",
        "Tokens of a model. Cached tokens are part of the input.",
    );
    for (model, sum) in &totals.models {
        let usage = sum.usage;
        for (kind, count) in [
            ("input", usage.input),
            ("cached", usage.cached),
            ("output", usage.output),
        ] {
            text.sample(name, &[("model", model), ("kind", kind)], count);
        }
    }
    let name = "tool_unpriced_uses_total";
    text.family(name, "counter", "Uses of a model without a known price.");
    for (model, sum) in &totals.models {
        text.sample(name, &[("model", model)], sum.unpriced);
    }
    text.into_string()
}

/// Returns the costs of a collector's spans as JSON, in dollars.
pub fn costs_json(totals: &Totals) -> Value {
    let sum = |sum: &CostSummary| json!({"dollars": sum.cost.dollars(), "usage": sum.usage, "uses": sum.uses, "unpriced": sum.unpriced});
    let by_name = |sums: &BTreeMap<String, CostSummary>| {
        sums.iter()
            .map(|(name, of)| (name.clone(), sum(of)))
            .collect::<serde_json::Map<_, _>>()
    };
    json!({
        "total": sum(&totals.total),
        "tracked": sum(&totals.tracked),
        "untracked": sum(&totals.untracked),
        "agents": by_name(&totals.agents),
        "tools": by_name(&totals.tools),
        "models": by_name(&totals.models),
    })
}

/// Returns true if the client prefers JSON to text. The default is text, which browsers get too.
fn prefers_json(headers: &HeaderMap) -> bool {
    let accepted = headers
        .get_all(header::ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok());
    let accepted = accepted
        .flat_map(|value| value.split(','))
        .map(parse_range)
        .collect::<Vec<_>>();
    let weight_of = |range: &str| {
        let matching = accepted
            .iter()
            .filter(|(accepted, _)| accepted.eq_ignore_ascii_case(range));
        matching.map(|(_, weight)| *weight).reduce(f32::max)
    };
    // The most specific range that matches applies.
    let weight = |ranges: [&str; 3]| ranges.into_iter().find_map(weight_of).unwrap_or(0.0);
    weight(["application/json", "application/*", "*/*"]) > weight(["text/plain", "text/*", "*/*"])
}

/// Splits a part of the `Accept` header, such as `text/*;q=0.5`, into its range and its weight.
fn parse_range(text: &str) -> (&str, f32) {
    let mut parts = text.split(';').map(str::trim);
    let range = parts.next().unwrap_or_default();
    let weight = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
    (
        range,
        weight.map_or(1.0, |weight| weight.parse().unwrap_or(0.0)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefers(accept: &str) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, accept.parse().expect("a header"));
        prefers_json(&headers)
    }

    #[test]
    fn sends_json_to_clients_that_prefer_it() {
        for accept in [
            "application/json",
            "Application/JSON;q=0.2",
            "text/plain;q=0.5, application/json",
            "application/*",
            "*/*;q=0.1, application/json",
        ] {
            assert!(prefers(accept), "{accept}");
        }
        assert!(!prefers_json(&HeaderMap::new()));
        for accept in [
            "*/*",
            "text/html,application/xhtml+xml,*/*;q=0.8",
            "application/json;q=0",
            "text/plain, application/json",
            "application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
            "application/json;q=x",
            "json",
        ] {
            assert!(!prefers(accept), "{accept}");
        }
    }
}
