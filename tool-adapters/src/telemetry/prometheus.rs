//! What is measured, over HTTP: `/metrics` for Prometheus, and the same as JSON.
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
//! - `GET /metrics`: Prometheus's text format; the JSON document where `Accept` asks for `application/json` rather than
//!   text.
//! - `GET /metrics.json`: the JSON document, whatever is accepted.
//!
//! Other methods are answered 405. Every request needs a `Host` that is known, and an `Origin` that is known where it has
//! one: those of this machine, unless told otherwise.

use crate::transport::host_check::{AllowedHosts, check_bind, forbidden};
use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;
use tool_core::__shared::PrometheusText;
use tool_core::Runtime;
use tool_core::trace::{Collector, CostSummary, Totals};

/// Serves the metrics of a runtime.
pub fn router(runtime: &Runtime) -> MetricsRouter {
    MetricsRouter { sources: Sources { runtime: runtime.clone(), collector: None }, hosts: None, origins: None }
}

/// What serves the metrics of a runtime: a part of an application's own router, or a server by itself.
///
/// ```
/// # use tool_adapters::telemetry::prometheus;
/// # use tool_core::{Runtime, ToolContext};
/// fn app(runtime: &Runtime) -> axum::Router {
///     axum::Router::new().merge(prometheus::router(runtime))
/// }
/// ```
#[derive(Clone)]
#[must_use]
pub struct MetricsRouter {
    sources: Sources,
    /// The loopback names where none are told.
    hosts: Option<Vec<String>>,
    origins: Option<Vec<String>>,
}

#[derive(Clone)]
struct Sources {
    runtime: Runtime,
    collector: Option<Collector>,
}

impl MetricsRouter {
    /// Adds what the spans of this collector have cost, by agent, tool and model.
    pub fn collector(mut self, collector: &Collector) -> Self {
        self.sources.collector = Some(collector.clone());
        self
    }

    /// The names under which it is reached, with a port or for any; in the place of this machine's own.
    pub fn allow_hosts<T: Into<String>>(mut self, hosts: impl IntoIterator<Item = T>) -> Self {
        self.hosts = Some(hosts.into_iter().map(Into::into).collect());
        self
    }

    /// The origins whose pages may ask, such as `https://app.example`, or `http://localhost:*` for any port; in the place
    /// of this machine's own.
    pub fn allow_origins<T: Into<String>>(mut self, origins: impl IntoIterator<Item = T>) -> Self {
        self.origins = Some(origins.into_iter().map(Into::into).collect());
        self
    }

    /// Takes an address. One that is not this machine's own is refused unless [`allow_hosts`](Self::allow_hosts) says
    /// under which names it is reached.
    pub async fn bind(self, address: SocketAddr) -> io::Result<BoundServer> {
        check_bind(address, self.hosts.is_some())?;
        Ok(BoundServer { listener: TcpListener::bind(address).await?, router: self.into() })
    }

    /// Serves until the future is dropped: `bind` and `serve` in one.
    pub async fn serve(self, address: SocketAddr) -> io::Result<()> {
        self.bind(address).await?.serve().await
    }
}

impl From<MetricsRouter> for Router {
    fn from(router: MetricsRouter) -> Self {
        let MetricsRouter { sources, hosts, origins } = router;
        let names = Arc::new(AllowedHosts::new(hosts, origins));
        Router::<Sources>::new()
            .route("/metrics", get(metrics))
            .route("/metrics.json", get(document))
            .layer(from_fn_with_state(names, check))
            .with_state(sources)
    }
}

impl std::fmt::Debug for MetricsRouter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MetricsRouter")
            .field("hosts", &self.hosts)
            .field("origins", &self.origins)
            .finish_non_exhaustive()
    }
}

/// A server that has its address and is about to serve.
#[derive(Debug)]
pub struct BoundServer {
    listener: TcpListener,
    router: Router,
}

impl BoundServer {
    /// The address, with the port that the system gave where 0 was asked for.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until the future is dropped.
    pub async fn serve(self) -> io::Result<()> {
        axum::serve(self.listener, self.router).await
    }
}

/// Who may ask is found out before the method and the path are.
async fn check(State(allowed): State<Arc<AllowedHosts>>, request: Request, next: Next) -> Response {
    match allowed.check(request.uri(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(reason) => forbidden(reason),
    }
}

async fn metrics(State(sources): State<Sources>, headers: HeaderMap) -> Response {
    if prefers_json(&headers) { sources.json() } else { sources.text() }
}

async fn document(State(sources): State<Sources>) -> Response {
    sources.json()
}

/// Figures are of the moment, and no other kind of file.
fn answer(content_type: &'static str, body: String) -> Response {
    let headers = [
        (header::CONTENT_TYPE, content_type),
        (header::CACHE_CONTROL, "no-store"),
        (header::VARY, "accept"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (headers, body).into_response()
}

impl Sources {
    fn text(&self) -> Response {
        let mut text = self.runtime.metrics().prometheus();
        if let Some(collector) = &self.collector {
            text.push_str(&prometheus(&collector.totals()));
        }
        answer("text/plain; version=0.0.4; charset=utf-8", text)
    }

    fn json(&self) -> Response {
        // Figures and names serialise.
        let mut document = serde_json::to_value(self.runtime.metrics()).unwrap_or_default();
        if let (Some(collector), Some(members)) = (&self.collector, document.as_object_mut()) {
            members.insert("cost".to_owned(), costs_json(&collector.totals()));
        }
        answer("application/json", document.to_string())
    }
}

// ---- Which form a client wants.

/// Whether the client would rather have JSON than text. Who does not say, such as a browser, has text.
pub(crate) fn prefers_json(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let ranges = accepted.flat_map(|value| value.split(',')).filter_map(range).collect::<Vec<_>>();
    let weight = |kind: &str, name: &str| {
        // The closest range counts, whatever stands beside it.
        let closest = ranges.iter().filter_map(|range| Some((range.closeness(kind, name)?, range.weight)));
        closest
            .max_by(|one, other| one.0.cmp(&other.0).then(one.1.total_cmp(&other.1)))
            .map_or(0.0, |(_, weight)| weight)
    };
    weight("application", "json") > weight("text", "plain")
}

struct Range<'a> {
    kind: &'a str,
    name: &'a str,
    weight: f32,
}

fn range(text: &str) -> Option<Range<'_>> {
    let mut parts = text.split(';').map(str::trim);
    let (kind, name) = parts.next()?.split_once('/')?;
    let weight = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
    let weight = weight.map_or(1.0, |weight| weight.parse::<f32>().unwrap_or(0.0));
    Some(Range { kind, name, weight })
}

impl Range<'_> {
    /// How closely it speaks of a type; `None` where it does not.
    fn closeness(&self, kind: &str, name: &str) -> Option<u8> {
        match (self.kind, self.name) {
            ("*", "*") => Some(0),
            (kinds, "*") if kinds.eq_ignore_ascii_case(kind) => Some(1),
            (kinds, names) if kinds.eq_ignore_ascii_case(kind) && names.eq_ignore_ascii_case(name) => Some(2),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefers(accept: &str) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, accept.parse().expect("a header"));
        prefers_json(&headers)
    }

    // R-M3
    #[test]
    fn json_is_for_those_who_ask_for_it() {
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

// ---- What the spans of a collector have cost, in few series: names are as many as the collector keeps apart.

pub(crate) fn prometheus(totals: &Totals) -> String {
    let mut text = PrometheusText::default();
    let name = "tool_cost_dollars_total";
    text.family(
        name,
        "counter",
        "What models and services have cost; untracked is what no agent, tool or question has asked for.",
    );
    for (tracked, sum) in [("true", &totals.tracked), ("false", &totals.untracked)] {
        text.line(name, &[("tracked", tracked)], sum.cost.decimal());
    }
    let families = [
        ("tool_cost_by_agent_dollars_total", "agent", "What was spent for an agent.", &totals.agents),
        ("tool_cost_by_tool_dollars_total", "tool", "What was spent in calls of a tool.", &totals.tools),
        ("tool_cost_by_model_dollars_total", "model", "What the use of a model has cost.", &totals.models),
    ];
    for (name, label, help, sums) in families {
        text.family(name, "counter", help);
        for (value, sum) in sums {
            text.line(name, &[(label, value)], sum.cost.decimal());
        }
    }
    tokens(&mut text, &totals.models);
    let name = "tool_unpriced_uses_total";
    text.family(name, "counter", "Uses of a model of which no price is known.");
    for (model, sum) in &totals.models {
        text.line(name, &[("model", model)], sum.unpriced);
    }
    text.0
}

fn tokens(text: &mut PrometheusText, models: &BTreeMap<String, CostSummary>) {
    let name = "tool_model_tokens_total";
    text.family(name, "counter", "Tokens that a model has read and written; those of the cache are part of the input.");
    for (model, sum) in models {
        let usage = sum.usage;
        let kinds = [("input", usage.input), ("cached", usage.cached), ("output", usage.output)];
        for (kind, count) in kinds {
            text.line(name, &[("model", model), ("kind", kind)], count);
        }
    }
}

/// The same in JSON, in dollars.
pub(crate) fn costs_json(totals: &Totals) -> Value {
    let sum = |sum: &CostSummary| json!({"dollars": sum.cost.dollars(), "usage": sum.usage, "uses": sum.uses, "unpriced": sum.unpriced});
    let named = |sums: &BTreeMap<String, CostSummary>| {
        sums.iter().map(|(name, of)| (name.clone(), sum(of))).collect::<serde_json::Map<_, _>>()
    };
    json!({
        "total": sum(&totals.total),
        "tracked": sum(&totals.tracked),
        "untracked": sum(&totals.untracked),
        "agents": named(&totals.agents),
        "tools": named(&totals.tools),
        "models": named(&totals.models),
    })
}
