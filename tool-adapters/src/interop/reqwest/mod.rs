//! Spans of a [`reqwest`](https://docs.rs/reqwest) client's requests, and the trace context on its way through HTTP.
//!
//! Each request is a span (`http:POST api.openai.com`) from its first byte to the last one of the answer's body, or to
//! when the body is dropped. What the answer of a known provider's model says of its use counts, as it passes: for the
//! span around it, and unless an `llm` span around it is told by [`trace::record`](tool_core::trace::record), which knows
//! better. So a tool that asks a model with a client of its own has its cost.
//!
//! ```
//! use reqwest_middleware::ClientBuilder;
//! use tool_adapters::interop::reqwest::TraceMiddleware;
//!
//! let client = ClientBuilder::new(reqwest::Client::new()).with(TraceMiddleware::new()).build();
//! ```
//!
//! A span stands for what the middleware sees: put it behind one that tries again, and every attempt has its own.
//!
//! # The trace in other processes
//!
//! A request takes the trace along (`traceparent`, `tracestate`, `baggage`) to hosts that you name, and to no other: the
//! baggage has the run and the customer, which are nobody else's business. A redirect would carry the headers on, so the
//! client has to have a policy for that; [`TraceMiddleware::client`] makes one that has.
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
//! A server goes on with the trace of a request by [`received`]:
//!
//! ```
//! use tool_adapters::interop::reqwest::received;
//! use tool_core::trace;
//!
//! async fn stock(headers: http::HeaderMap) -> u32 {
//!     trace::import(received(&headers), trace::agent("stock", async { 12 })).await
//! }
//! ```

pub(crate) mod body;
pub(crate) mod hosts;

use crate::interop::reqwest::body::{Seen, Watched};
use crate::interop::reqwest::hosts::Hosts;
use crate::telemetry::observer::Observer;
use crate::transport::request_span;
use crate::transport::request_span::STATUS;
use http::{Extensions, HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Body, Request, Response, ResponseBuilderExt, StatusCode};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware, Error, Middleware, Next};
use std::pin::Pin;
use std::sync::Mutex;
use tool_core::trace::DistributedContext;

/// Opens a span for each request: see the [module](self). Cheap to clone. A clone has its own word on whether redirects
/// are looked after: what is done with it later is no word about the other.
#[derive(Clone, Debug, Default)]
pub struct TraceMiddleware {
    hosts: Hosts,
}

impl TraceMiddleware {
    /// Spans, and the trace context to nobody.
    pub fn new() -> Self {
        Self::default()
    }

    /// The hosts that are told of the trace, in place of those said before: `name`, for any port, or `name:port`. They
    /// are told by clients with the [`redirect_policy`](Self::redirect_policy) of this middleware, which
    /// [`client`](Self::client) sees to; others send nothing.
    #[must_use]
    pub fn propagate_to(self, hosts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { hosts: Hosts::new(hosts) }
    }

    /// A client with this middleware and its policy for redirects.
    pub fn client(self, builder: reqwest::ClientBuilder) -> Result<ClientWithMiddleware, reqwest::Error> {
        let client = builder.redirect(self.redirect_policy(Policy::default())).build()?;
        Ok(ClientBuilder::new(client).with(self).build())
    }

    /// For the client that this very middleware is then given to, or a later clone of it.
    ///
    /// Follows redirects as `otherwise` does, but not from a host that is told of the trace to one that is not, nor from
    /// `https` to `http`: the answer is then the redirect itself.
    ///
    /// ```
    /// use reqwest::redirect::Policy;
    /// use reqwest_middleware::ClientBuilder;
    /// use tool_adapters::interop::reqwest::TraceMiddleware;
    ///
    /// # fn main() -> Result<(), reqwest::Error> {
    /// let trace = TraceMiddleware::new().propagate_to(["stock.internal"]);
    /// let client = reqwest::Client::builder().redirect(trace.redirect_policy(Policy::limited(3))).build()?;
    /// let client = ClientBuilder::new(client).with(trace).build();
    /// # Ok(())
    /// # }
    /// ```
    pub fn redirect_policy(&self, otherwise: Policy) -> Policy {
        self.hosts.policy(otherwise)
    }

    async fn run(&self, mut request: Request, extensions: &mut Extensions, next: Next<'_>) -> Result<Response, Error> {
        let span = request_span::open(request.method(), request.url());
        // By the address that was asked: after a redirect it is still the same question.
        let observer = observer(&request);
        if self.hosts.may_know(request.url()) {
            inject(&span.context(), request.headers_mut());
        }
        let answered = span.inside(next.run(request, extensions)).await;
        match answered {
            Ok(response) => {
                span.attribute(STATUS, response.status().as_u16());
                let error = of_status(response.status());
                Ok(watched(response, Seen { span, observer: Mutex::new(observer), error }))
            }
            Err(error) => {
                let kind = match &error {
                    Error::Reqwest(error) => of_transport(error),
                    Error::Middleware(_) => "middleware",
                };
                span.fail(kind);
                Err(error)
            }
        }
    }
}

/// Reads what a model uses, where one is asked.
fn observer(request: &Request) -> Option<Observer> {
    let mut observer = Observer::for_url(request.method().as_str(), request.url().as_str())?;
    if let Some(body) = request.body().and_then(Body::as_bytes) {
        observer.request(body);
    }
    Some(observer)
}

/// The same response, with a body that closes the span.
fn watched(response: Response, seen: Seen) -> Response {
    let url = response.url().clone();
    let (parts, body) = http::Response::<Body>::from(response).into_parts();
    let mut whole = http::Response::new(());
    // The address stands among the extensions, in a form of reqwest's own.
    if let Ok(with_url) = http::Response::builder().url(url).body(()) {
        whole = with_url;
    }
    *whole.status_mut() = parts.status;
    *whole.version_mut() = parts.version;
    *whole.headers_mut() = parts.headers;
    whole.extensions_mut().extend(parts.extensions);
    whole.map(|()| Body::wrap(Watched::new(body, seen))).into()
}

impl Middleware for TraceMiddleware {
    // As `async_trait` has it, by which the trait is made.
    fn handle<'life0, 'life1, 'life2, 'async_trait>(
        &'life0 self,
        request: Request,
        extensions: &'life1 mut Extensions,
        next: Next<'life2>,
    ) -> Pin<Box<dyn Future<Output = Result<Response, Error>> + Send + 'async_trait>>
    where
        'life0: 'async_trait,
        'life1: 'async_trait,
        'life2: 'async_trait,
        Self: 'async_trait,
    {
        Box::pin(self.run(request, extensions, next))
    }
}

// ---- What went wrong with a request, in one word of few.

/// What kind of error an answer is; `None` for one that is none. To a client every 4xx is one.
pub(crate) fn of_status(status: StatusCode) -> Option<&'static str> {
    Some(match status.as_u16() {
        ..400 => return None,
        400 => "400",
        401 => "401",
        402 => "402",
        403 => "403",
        404 => "404",
        405 => "405",
        408 => "408",
        409 => "409",
        410 => "410",
        413 => "413",
        415 => "415",
        422 => "422",
        424 => "424",
        429 => "429",
        500 => "500",
        501 => "501",
        502 => "502",
        503 => "503",
        504 => "504",
        529 => "529",
        code if code < 500 => "4xx",
        _ => "5xx",
    })
}

/// What kind of error it is that no answer came, or not all of it.
pub(crate) fn of_transport(error: &reqwest::Error) -> &'static str {
    if error.is_timeout() {
        "timeout"
    } else if error.is_connect() {
        "connect"
    } else if error.is_redirect() {
        "redirect"
    } else if error.is_builder() {
        "request"
    } else if error.is_body() || error.is_decode() {
        "body"
    } else {
        "transport"
    }
}

// ---- The trace context as headers. S9

const TRACEPARENT: &str = "traceparent";

/// The trace that a request is part of, for [`trace::import`](tool_core::trace::import): what its headers say of the
/// span, in bounds. Who the work is for is not read, as anybody may say anything.
pub fn received(headers: &HeaderMap) -> DistributedContext {
    DistributedContext::from_pairs(pairs(headers))
}

/// The same of a request whose sender may say for which run and which customer the work is done.
pub fn received_from_trusted(headers: &HeaderMap) -> DistributedContext {
    DistributedContext::from_trusted_pairs(pairs(headers))
}

fn pairs(headers: &HeaderMap) -> impl Iterator<Item = (&str, &str)> {
    headers.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)))
}

/// Puts the context into a request that has none of its own.
pub(crate) fn inject(context: &DistributedContext, headers: &mut HeaderMap) {
    if headers.contains_key(TRACEPARENT) {
        return;
    }
    for (name, value) in context.to_pairs() {
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
}
