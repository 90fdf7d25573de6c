//! Spans for the requests of a [`reqwest`](https://docs.rs/reqwest) client, and propagation of
//! traces through HTTP.
//!
//! [`TraceMiddleware`] opens a span for each request (`http:POST api.openai.com`). The span ends with the last byte of the
//! response's body, or when the body is dropped. If the response is a known provider's, its token
//! usage is read as the body passes and counts for the span around the request. Inside an `llm`
//! span that records usage with
//! [`trace::record`], only the recorded usage counts. So a tool that calls a model with its own
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
//! Requests to the hosts of [`TraceMiddleware::propagate_to`] carry the trace (`traceparent`,
//! `tracestate`, `baggage`). Requests to other hosts do not, as the baggage names the run and the
//! customer. A redirect would carry the headers to another host, so the client needs a redirect
//! policy that stops this; [`TraceMiddleware::client`] sets one.
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

use crate::observer::Observer;
use crate::request_span::{self, STATUS_CODE};
use async_trait::async_trait;
use http::{Extensions, HeaderMap, HeaderName, HeaderValue};
use http_body::{Body as HttpBody, Frame, SizeHint};
use parking_lot::Mutex;
use reqwest::redirect::Policy;
use reqwest::{Body, Request, Response, ResponseBuilderExt, StatusCode, Url};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware, Error, Middleware, Next};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use tool_core::trace::{self, DistributedContext, SpanHandle};

/// Opens a span for each request: see the [module](self). Cheap to clone.
///
/// A clone remembers whether [`redirect_policy`](Self::redirect_policy) was called before it was
/// cloned. Later calls on one of the two do not affect the other.
#[derive(Debug, Default)]
#[must_use]
pub struct TraceMiddleware {
    /// The hosts to which the trace is propagated, in lower case.
    hosts: Arc<[String]>,
    /// True once a redirect policy was made for the client. A middleware cannot see the policy of
    /// its client.
    has_policy: AtomicBool,
    warned: Arc<AtomicBool>,
}

impl Clone for TraceMiddleware {
    /// Copies `has_policy`, because the clone may get into another client.
    fn clone(&self) -> Self {
        let has_policy = AtomicBool::new(self.has_policy.load(Ordering::Relaxed));
        Self {
            hosts: Arc::clone(&self.hosts),
            has_policy,
            warned: Arc::clone(&self.warned),
        }
    }
}

impl TraceMiddleware {
    /// Creates a middleware that opens spans and propagates the trace to no host.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the hosts to which the trace is propagated: `name` for any port, or `name:port`.
    /// Replaces earlier hosts.
    ///
    /// The trace is sent only if the client has the [`redirect_policy`](Self::redirect_policy) of
    /// this middleware, which
    /// [`client`](Self::client) sets.
    pub fn propagate_to(self, hosts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            hosts: hosts
                .into_iter()
                .map(|host| host.into().to_ascii_lowercase())
                .collect(),
            ..Self::default()
        }
    }

    /// Builds a client with this middleware and its redirect policy.
    pub fn client(
        self,
        builder: reqwest::ClientBuilder,
    ) -> Result<ClientWithMiddleware, reqwest::Error> {
        let client = builder
            .redirect(self.redirect_policy(Policy::default()))
            .build()?;
        Ok(ClientBuilder::new(client).with(self).build())
    }

    /// Returns a redirect policy for the client that gets this middleware, or a later clone of it.
    ///
    /// Follows redirects as `policy` does, except from a host to which the trace is propagated to
    /// another host, and from `https` to `http`. The client then returns the redirect itself.
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
    pub fn redirect_policy(&self, policy: Policy) -> Policy {
        self.has_policy.store(true, Ordering::Relaxed);
        let allowed = self.clone();
        Policy::custom(move |attempt| {
            // The headers of the first request are sent with every request that follows.
            let has_trace = attempt
                .previous()
                .first()
                .is_some_and(|first| allowed.allows(first));
            if has_trace && !allowed.may_follow(attempt.previous(), attempt.url()) {
                return attempt.stop();
            }
            policy.redirect(attempt)
        })
    }

    /// Returns true if a request to this URL may carry the trace.
    fn may_propagate(&self, url: &Url) -> bool {
        if !self.allows(url) {
            return false;
        }
        let has_policy = self.has_policy.load(Ordering::Relaxed);
        if !has_policy && !self.warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                "the trace is not propagated, because a redirect would carry it to other hosts; build the client with \
                 `TraceMiddleware::client`, or with its `redirect_policy`"
            );
        }
        has_policy
    }

    fn allows(&self, url: &Url) -> bool {
        let Some(host) = url.host_str() else {
            return false;
        };
        let port = url.port_or_known_default();
        self.hosts.iter().any(|name| match name.strip_prefix(host) {
            Some("") => true,
            Some(rest) => rest
                .strip_prefix(':')
                .is_some_and(|text| text.parse().ok() == port && port.is_some()),
            None => false,
        })
    }

    fn may_follow(&self, previous: &[Url], next: &Url) -> bool {
        let is_downgrade =
            next.scheme() != "https" && previous.iter().any(|url| url.scheme() == "https");
        self.allows(next) && !is_downgrade
    }
}

/// An extension of a request whose answer is not trusted to report usage.
#[derive(Clone)]
pub(crate) struct WithoutUsage;

#[async_trait]
impl Middleware for TraceMiddleware {
    async fn handle(
        &self,
        mut request: Request,
        extensions: &mut Extensions,
        next: Next<'_>,
    ) -> Result<Response, Error> {
        let span = request_span::open(request.method(), request.url(), false);
        // The observer goes by the URL of the request, even after a redirect.
        let observer = if extensions.get::<WithoutUsage>().is_none() {
            observer(&request)
        } else {
            None
        };
        if self.may_propagate(request.url()) {
            inject(&span.context(), request.headers_mut());
        }
        match span.inside(next.run(request, extensions)).await {
            Ok(response) => {
                span.attribute(STATUS_CODE, response.status().as_u16());
                let error = status_error(response.status());
                Ok(trace_body(
                    response,
                    OpenSpan {
                        span,
                        observer: Mutex::new(observer),
                        error,
                    },
                ))
            }
            Err(error) => {
                span.fail(match &error {
                    Error::Reqwest(error) => transport_error(error),
                    Error::Middleware(_) => "middleware",
                });
                Err(error)
            }
        }
    }
}

/// Returns an observer if the request goes to a model.
fn observer(request: &Request) -> Option<Observer> {
    let mut observer = Observer::for_url(request.method().as_str(), request.url().as_str())?;
    if let Some(body) = request.body().and_then(Body::as_bytes) {
        observer.request(body);
    }
    Some(observer)
}

/// Returns the response with a body that ends the span.
fn trace_body(response: Response, open: OpenSpan) -> Response {
    let url = response.url().clone();
    let (parts, body) = http::Response::<Body>::from(response).into_parts();
    // reqwest keeps the URL in a private extension, which only its builder can set.
    let mut traced = http::Response::builder()
        .url(url)
        .body(())
        .unwrap_or_default();
    *traced.status_mut() = parts.status;
    *traced.version_mut() = parts.version;
    *traced.headers_mut() = parts.headers;
    traced.extensions_mut().extend(parts.extensions);
    traced
        .map(|()| Body::wrap(TracedBody::new(body, open)))
        .into()
}

/// The error kinds of statuses that are common. The kinds of spans have few values.
const STATUS_ERRORS: [&str; 20] = [
    "400", "401", "402", "403", "404", "405", "408", "409", "410", "413", "415", "422", "424",
    "429", "500", "501", "502", "503", "504", "529",
];

/// Returns the error kind of a status. A client treats every 4xx as an error.
fn status_error(status: StatusCode) -> Option<&'static str> {
    if status.as_u16() < 400 {
        return None;
    }
    let known = STATUS_ERRORS
        .into_iter()
        .find(|known| *known == status.as_str());
    Some(known.unwrap_or(if status.is_client_error() {
        "4xx"
    } else {
        "5xx"
    }))
}

/// Returns the error kind of a failed or incomplete response.
fn transport_error(error: &reqwest::Error) -> &'static str {
    match error {
        error if error.is_timeout() => "timeout",
        error if error.is_connect() => "connect",
        error if error.is_redirect() => "redirect",
        error if error.is_builder() => "request",
        error if error.is_body() || error.is_decode() => "body",
        _ => "transport",
    }
}

/// The span of a request whose body has not ended.
struct OpenSpan {
    span: SpanHandle,
    /// Reads the token usage of a model's response. The lock is never contended; it makes the body
    /// `Sync`.
    observer: Mutex<Option<Observer>>,
    /// The error kind of the status.
    error: Option<&'static str>,
}

#[derive(Clone, Copy)]
enum BodyEnd {
    /// Read to its end, or not at all.
    Complete,
    /// Dropped after a part of it was read.
    Dropped,
    Failed(&'static str),
}

impl OpenSpan {
    fn close(self, end: BodyEnd) {
        let Self {
            span,
            observer,
            error,
        } = self;
        let observer = observer.into_inner();
        if let Some(usage) = observer.and_then(Observer::finish) {
            // The task that reads the body may be in another span.
            span.run(|| trace::observe(usage));
        }
        match (error, end) {
            (Some(kind), _) | (None, BodyEnd::Failed(kind)) => span.fail(kind),
            (None, BodyEnd::Complete) => span.end(),
            (None, BodyEnd::Dropped) => drop(span),
        }
    }
}

/// A body that passes through unchanged, and ends the span of its request.
struct TracedBody {
    body: Body,
    /// `None` once the body has ended.
    open: Option<OpenSpan>,
    was_read: bool,
}

impl TracedBody {
    fn new(body: Body, open: OpenSpan) -> Self {
        let mut traced = Self {
            body,
            open: Some(open),
            was_read: false,
        };
        // A body that is known to be empty is not polled.
        if has_ended(&traced.body) {
            traced.close(BodyEnd::Complete);
        }
        traced
    }

    fn close(&mut self, end: BodyEnd) {
        if let Some(open) = self.open.take() {
            open.close(end);
        }
    }
}

/// Returns true if no more data follows. A reader that knows the length does not poll again for the
/// end.
fn has_ended(body: &Body) -> bool {
    body.is_end_stream() || body.size_hint().exact() == Some(0)
}

impl HttpBody for TracedBody {
    type Data = <Body as HttpBody>::Data;
    type Error = ::reqwest::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let this = &mut *self;
        this.was_read = true;
        let body = Pin::new(&mut this.body);
        let Some(open) = &mut this.open else {
            return body.poll_frame(cx);
        };
        let polled = open.span.run(|| body.poll_frame(cx));
        match &polled {
            Poll::Pending => {}
            Poll::Ready(Some(Ok(frame))) => {
                let observer = open.observer.get_mut();
                if let (Some(data), Some(observer)) = (frame.data_ref(), observer) {
                    observer.push(data);
                }
                if has_ended(&this.body) {
                    this.close(BodyEnd::Complete);
                }
            }
            Poll::Ready(Some(Err(error))) => this.close(BodyEnd::Failed(transport_error(error))),
            Poll::Ready(None) => this.close(BodyEnd::Complete),
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for TracedBody {
    fn drop(&mut self) {
        self.close(if self.was_read {
            BodyEnd::Dropped
        } else {
            BodyEnd::Complete
        });
    }
}

/// Reads the trace of a request from its headers, for [`trace::import`]. Ignores the baggage
/// with the run and the customer, as any client may send any value.
pub fn extract(headers: &HeaderMap) -> DistributedContext {
    DistributedContext::from_pairs(pairs(headers))
}

/// Reads the trace of a request of a trusted client, including the run and the customer.
pub fn extract_trusted(headers: &HeaderMap) -> DistributedContext {
    DistributedContext::from_trusted_pairs(pairs(headers))
}

fn pairs(headers: &HeaderMap) -> impl Iterator<Item = (&str, &str)> {
    headers
        .iter()
        .filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)))
}

/// Adds the context to a request that has no `traceparent`.
pub(crate) fn inject(context: &DistributedContext, headers: &mut HeaderMap) {
    if headers.contains_key("traceparent") {
        return;
    }
    for (name, value) in context.to_pairs() {
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).expect("a URL")
    }

    #[test]
    fn matches_whole_host_names_and_given_ports() {
        let hosts = TraceMiddleware::new().propagate_to([
            "Stock.Internal",
            "api.internal:8443",
            "[::1]",
            "127.0.0.1:80",
        ]);
        for known in [
            "http://stock.internal/",
            "https://STOCK.internal:9/x",
            "https://api.internal:8443",
            "http://[::1]:7/",
            "http://127.0.0.1/",
        ] {
            assert!(hosts.allows(&url(known)), "{known}");
        }
        for other in [
            "http://stock.internal.example/",
            "http://evil-stock.internal/",
            "http://internal/",
            "https://api.internal/",
            "http://127.0.0.1:8080/",
            "http://stock.internal@evil.example/",
            "data:stock.internal",
        ] {
            assert!(!hosts.allows(&url(other)), "{other}");
        }
    }

    #[test]
    fn propagates_to_named_hosts_with_a_redirect_policy_only() {
        let hosts = TraceMiddleware::new().propagate_to(["stock.internal"]);
        assert!(!TraceMiddleware::new().may_propagate(&url("http://stock.internal")));
        assert!(!hosts.may_propagate(&url("http://stock.internal")));
        let _policy = hosts.redirect_policy(Policy::default());
        assert!(
            hosts.may_propagate(&url("http://stock.internal"))
                && !hosts.may_propagate(&url("http://other.internal"))
        );
    }

    #[test]
    fn the_policy_of_a_clone_does_not_affect_the_original() {
        let (hosts, known) = (
            TraceMiddleware::new().propagate_to(["stock.internal"]),
            url("http://stock.internal"),
        );
        let clone = hosts.clone();
        let _policy = clone.redirect_policy(Policy::default());
        assert!(clone.may_propagate(&known) && !hosts.may_propagate(&known));
        assert!(
            clone.clone().may_propagate(&known),
            "a clone of the clone has the policy"
        );
    }

    #[test]
    fn redirects_stay_on_allowed_hosts_and_https() {
        let hosts = TraceMiddleware::new().propagate_to(["a.internal", "b.internal"]);
        let (a, b, plain) = (
            url("https://a.internal"),
            url("https://b.internal"),
            url("http://b.internal"),
        );
        assert!(hosts.may_follow(std::slice::from_ref(&a), &b));
        assert!(!hosts.may_follow(std::slice::from_ref(&a), &plain));
        assert!(!hosts.may_follow(&[a, b], &url("https://c.internal")));
        assert!(hosts.may_follow(&[url("http://a.internal")], &plain));
    }
}
