//! The middleware, and the response body that ends its span.

use crate::interop::reqwest::propagation::{AllowedHosts, inject};
use crate::telemetry::observer::Observer;
use crate::transport::request_span::{self, STATUS_CODE};
use http::Extensions;
use http_body::{Body as HttpBody, Frame, SizeHint};
use reqwest::redirect::Policy;
use reqwest::{Body, Request, Response, ResponseBuilderExt, StatusCode};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware, Error, Middleware, Next};
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll};
use tool_core::trace::{self, SpanHandle};

/// Opens a span for each request: see the [module](super). Cheap to clone.
///
/// A clone remembers whether [`redirect_policy`](Self::redirect_policy) was called before it was cloned. Later calls on
/// one of the two do not affect the other.
#[derive(Clone, Debug, Default)]
pub struct TraceMiddleware {
    hosts: AllowedHosts,
}

impl TraceMiddleware {
    /// Creates a middleware that opens spans and propagates the trace to no host.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the hosts to which the trace is propagated: `name` for any port, or `name:port`. Replaces earlier hosts.
    ///
    /// The trace is sent only if the client has the [`redirect_policy`](Self::redirect_policy) of this middleware, which
    /// [`client`](Self::client) sets.
    #[must_use]
    pub fn propagate_to(self, hosts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { hosts: AllowedHosts::new(hosts) }
    }

    /// Builds a client with this middleware and its redirect policy.
    pub fn client(self, builder: reqwest::ClientBuilder) -> Result<ClientWithMiddleware, reqwest::Error> {
        let client = builder.redirect(self.redirect_policy(Policy::default())).build()?;
        Ok(ClientBuilder::new(client).with(self).build())
    }

    /// Returns a redirect policy for the client that gets this middleware, or a later clone of it.
    ///
    /// Follows redirects as `policy` does, except from a host to which the trace is propagated to another host, and from
    /// `https` to `http`. The client then returns the redirect itself.
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
        self.hosts.redirect_policy(policy)
    }

    async fn run(&self, mut request: Request, extensions: &mut Extensions, next: Next<'_>) -> Result<Response, Error> {
        let span = request_span::open(request.method(), request.url());
        // The observer goes by the URL of the request, even after a redirect.
        let observer = observer(&request);
        if self.hosts.may_propagate(request.url()) {
            inject(&span.context(), request.headers_mut());
        }
        match span.inside(next.run(request, extensions)).await {
            Ok(response) => {
                span.attribute(STATUS_CODE, response.status().as_u16());
                let error = status_error(response.status());
                Ok(trace_body(response, OpenSpan { span, observer: Mutex::new(observer), error }))
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

impl Middleware for TraceMiddleware {
    // The signature that `async_trait` expands to.
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
    let mut traced = http::Response::new(());
    // reqwest keeps the URL in a private extension, which only its builder can set.
    if let Ok(with_url) = http::Response::builder().url(url).body(()) {
        traced = with_url;
    }
    *traced.status_mut() = parts.status;
    *traced.version_mut() = parts.version;
    *traced.headers_mut() = parts.headers;
    traced.extensions_mut().extend(parts.extensions);
    traced.map(|()| Body::wrap(TracedBody::new(body, open))).into()
}

/// Returns the error kind of a status. A client treats every 4xx as an error.
fn status_error(status: StatusCode) -> Option<&'static str> {
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

/// Returns the error kind of a failed or incomplete response.
fn transport_error(error: &reqwest::Error) -> &'static str {
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

/// The span of a request whose body has not ended.
struct OpenSpan {
    span: SpanHandle,
    /// Reads the token usage of a model's response. The lock is never contended; it makes the body `Sync`.
    observer: Mutex<Option<Observer>>,
    /// The error kind of the status.
    error: Option<&'static str>,
}

#[derive(Clone, Copy)]
enum BodyEnd {
    Complete,
    Unread,
    /// Dropped after a part of it was read.
    Dropped,
    Failed(&'static str),
}

impl OpenSpan {
    fn close(self, end: BodyEnd) {
        let Self { span, observer, error } = self;
        let observer = observer.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(usage) = observer.and_then(Observer::finish) {
            // The task that reads the body may be in another span.
            span.run(|| trace::observe(usage));
        }
        match (error, end) {
            (Some(kind), _) | (None, BodyEnd::Failed(kind)) => span.fail(kind),
            (None, BodyEnd::Complete | BodyEnd::Unread) => span.end(),
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
        let mut traced = Self { body, open: Some(open), was_read: false };
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

/// Returns true if no more data follows. A reader that knows the length does not poll again for the end.
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
        let Some(open) = &mut this.open else { return body.poll_frame(cx) };
        let polled = open.span.run(|| body.poll_frame(cx));
        match &polled {
            Poll::Pending => {}
            Poll::Ready(Some(Ok(frame))) => {
                let observer = open.observer.get_mut().unwrap_or_else(PoisonError::into_inner);
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
        self.close(if self.was_read { BodyEnd::Dropped } else { BodyEnd::Unread });
    }
}
