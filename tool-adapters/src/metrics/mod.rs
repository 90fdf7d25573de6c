//! What is measured, over HTTP: `/metrics` for Prometheus, and the same as JSON.
//!
//! ```no_run
//! use tool_adapters::metrics;
//! use tool_core::{Runtime, ToolContext};
//!
//! # async fn serve() -> Result<(), Box<dyn std::error::Error>> {
//! let runtime = Runtime::builder(ToolContext::discover()?).build()?;
//! metrics::router(&runtime).serve(([127, 0, 0, 1], 9464).into()).await?;
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

mod accept;
mod costs;

use crate::names::{Names, forbidden, may_bind};
use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;
use tool_core::Runtime;
use tool_core::trace::Collector;

/// Serves the metrics of a runtime.
pub fn router(runtime: &Runtime) -> MetricsRouter {
    MetricsRouter { sources: Sources { runtime: runtime.clone(), collector: None }, hosts: None, origins: None }
}

/// What serves the metrics of a runtime: a part of an application's own router, or a server by itself.
///
/// ```
/// # use tool_adapters::metrics;
/// # use tool_core::{Runtime, ToolContext};
/// fn app(runtime: &Runtime) -> axum::Router {
///     axum::Router::new().merge(metrics::router(runtime))
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
    pub async fn bind(self, address: SocketAddr) -> io::Result<Bound> {
        may_bind(address, self.hosts.is_some())?;
        Ok(Bound { listener: TcpListener::bind(address).await?, router: self.into() })
    }

    /// Serves until the future is dropped: `bind` and `serve` in one.
    pub async fn serve(self, address: SocketAddr) -> io::Result<()> {
        self.bind(address).await?.serve().await
    }
}

impl From<MetricsRouter> for Router {
    fn from(router: MetricsRouter) -> Self {
        let MetricsRouter { sources, hosts, origins } = router;
        let names = Arc::new(Names::of(hosts, origins));
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
pub struct Bound {
    listener: TcpListener,
    router: Router,
}

impl Bound {
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
async fn check(State(names): State<Arc<Names>>, request: Request, next: Next) -> Response {
    match names.refuses(request.uri(), request.headers()) {
        Some(why) => forbidden(why),
        None => next.run(request).await,
    }
}

async fn metrics(State(sources): State<Sources>, headers: HeaderMap) -> Response {
    if accept::prefers_json(&headers) { sources.json() } else { sources.text() }
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
            text.push_str(&costs::prometheus(&collector.totals()));
        }
        answer("text/plain; version=0.0.4; charset=utf-8", text)
    }

    fn json(&self) -> Response {
        // Figures and names serialise.
        let mut document = serde_json::to_value(self.runtime.metrics()).unwrap_or_default();
        if let (Some(collector), Some(members)) = (&self.collector, document.as_object_mut()) {
            members.insert("cost".to_owned(), costs::json(&collector.totals()));
        }
        answer("application/json", document.to_string())
    }
}
