//! Spans for the model calls of async-openai.

use crate::observe::bytes::ObservedBytes;
use async_openai::Client;
use async_openai::config::Config;
use async_openai::error::OpenAIError;
use async_openai::middleware::retry::OpenAIRetryLayer;
use async_openai::middleware::{HttpRequestFactory, ReqwestService};
use reqwest::{Body, Response, ResponseBuilderExt};
use std::pin::Pin;
use std::task::{Context, Poll};
use tool_adapters_http::observed_call::ObservedCall;
use tool_core::{ToolError, trace};
use tower::{Layer, Service};

/// Gives each model call of a client a span, as our own models have one: with its model, usage, cost, error and time.
///
/// The client stays what it is, so the rest of your program does not change. Streams are covered: the span ends with the
/// stream, and if you drop a stream before its end, the span is cancelled and has the usage that came until then. For the
/// usage of a stream of Chat Completions, ask for it with `stream_options.include_usage`. Requests that ask no model, such
/// as a list of models, have no span. Spans are opened inside other spans, or once the process collects spans
/// ([`start`](tool_core::trace::start)).
///
/// Requests go through a new `reqwest::Client`. If your client has one of its own, use [`observe_over`].
///
/// ```no_run
/// use async_openai::Client;
/// use tool_adapters::interop::async_openai::observe;
///
/// let client = observe(Client::new());
/// ```
pub fn observe<C: Config>(client: Client<C>) -> Client<C> {
    observe_over(client, reqwest::Client::new())
}

/// Does what [`observe`] does, with an HTTP client of yours, for example with a proxy.
///
/// ```no_run
/// use async_openai::Client;
/// use std::time::Duration;
/// use tool_adapters::interop::async_openai::observe_over;
///
/// let http = reqwest::Client::builder().connect_timeout(Duration::from_secs(5)).build()?;
/// let client = observe_over(Client::new(), http);
/// # Ok::<(), reqwest::Error>(())
/// ```
pub fn observe_over<C: Config>(client: Client<C>, http: reqwest::Client) -> Client<C> {
    // What the client does by itself.
    let retried = OpenAIRetryLayer::default().layer(ReqwestService::new(http));
    client.with_http_service(ObservedService::new(retried))
}

/// A service that sends the requests of async-openai and opens a span for each model call.
///
/// Use it in a stack of your own. Put it around the layer that retries, so that a call has one span.
///
/// ```no_run
/// use async_openai::Client;
/// use async_openai::middleware::ReqwestService;
/// use tool_adapters::interop::async_openai::ObservedService;
///
/// let service = ObservedService::new(ReqwestService::new(reqwest::Client::new()));
/// let client = Client::new().with_http_service(service);
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct ObservedService<S> {
    inner: S,
}

impl<S> ObservedService<S> {
    /// Creates a service that sends requests through another one.
    pub fn new(inner: S) -> Self {
        Self { inner }
    }
}

impl<S> Service<HttpRequestFactory> for ObservedService<S>
where
    S: Service<HttpRequestFactory, Response = Response> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Into<OpenAIError>,
{
    type Response = Response;
    type Error = OpenAIError;
    type Future = Pin<Box<dyn Future<Output = Result<Response, OpenAIError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), OpenAIError>> {
        self.inner.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, request: HttpRequestFactory) -> Self::Future {
        // The service that is ready makes the call, and its clone the next one.
        let next = self.inner.clone();
        let mut ready = std::mem::replace(&mut self.inner, next);
        Box::pin(async move {
            let Some(mut call) = begin(&request).await else {
                return ready.call(request).await.map_err(Into::into);
            };
            match call.inside(ready.call(request)).await {
                Ok(response) => {
                    call.answered(response.status().as_u16());
                    Ok(with_observed_body(response, call))
                }
                Err(error) => {
                    let error = error.into();
                    call.fail(failure(&error));
                    Err(error)
                }
            }
        })
    }
}

/// Opens the span of a request to a model.
async fn begin(request: &HttpRequestFactory) -> Option<ObservedCall> {
    // Building it converts the body once more, such as the form of an upload.
    if !trace::is_wanted() {
        return None;
    }
    let request = request.build().await.ok()?;
    let body = request.body().and_then(Body::as_bytes).unwrap_or_default();
    ObservedCall::begin(request.method().as_str(), request.url().as_str(), body)
}

fn with_observed_body(response: Response, call: ObservedCall) -> Response {
    let mut answer = http::Response::builder()
        .url(response.url().clone())
        .body(())
        .unwrap_or_default();
    *answer.status_mut() = response.status();
    *answer.version_mut() = response.version();
    *answer.headers_mut() = response.headers().clone();

    let bytes = ObservedBytes::new(Box::pin(response.bytes_stream()), call);
    answer.map(|()| Body::wrap_stream(bytes)).into()
}

fn failure(error: &OpenAIError) -> ToolError {
    match error {
        OpenAIError::Reqwest(error) if error.is_timeout() => {
            ToolError::transient("the provider did not answer in time")
        }
        // The error itself names the URL.
        OpenAIError::Reqwest(_) => ToolError::transient("failed to reach the provider"),
        OpenAIError::InvalidArgument(_) => ToolError::permanent("the request is invalid"),
        _ => ToolError::transient("the request failed"),
    }
}
