//! Spans for the model calls of rig.

use crate::observe::bytes::ObservedBytes;
use bytes::Bytes;
use rig_core::http_client::{
    Error, HttpClientExt, LazyBody, MultipartForm, Request, Response, Result, StreamingResponse,
};
use rig_core::wasm_compat::WasmCompatSend;
use tool_adapters_http::observed_call::{ObservedCall, refused};
use tool_core::ToolError;

/// Gives each model call that goes through an HTTP client of rig a span, as our own models have one: with its model, usage,
/// cost, error and time.
///
/// A provider of rig takes the client with `connect` or `with_http`. Streams are covered: the span ends with the stream, and if you drop
/// a stream before its end, the span is cancelled and has the usage that came until then. Spans are opened inside other
/// spans, or once the process collects spans ([`start`](tool_core::trace::start)). Requests that ask no model, such as a
/// list of models, have none.
///
/// ```no_run
/// use rig_core::providers::openai::{self, OpenAIConfig};
/// use rig_reqwest::ReqwestClient;
/// use tool_adapters::interop::rig::observe;
///
/// let openai = OpenAIConfig::new("sk-1").connect(observe(ReqwestClient::default()));
/// let model = openai.responses(openai::GPT_5_2);
/// # let _ = model;
/// ```
pub fn observe<H: HttpClientExt>(http: H) -> ObservedHttp<H> {
    ObservedHttp { http }
}

/// An HTTP client of rig whose model calls have spans: see [`observe`].
#[derive(Clone, Debug)]
#[must_use]
pub struct ObservedHttp<H> {
    http: H,
}

impl<H: HttpClientExt> HttpClientExt for ObservedHttp<H> {
    fn send<T, U>(
        &self,
        request: Request<T>,
    ) -> impl Future<Output = Result<Response<LazyBody<U>>>> + WasmCompatSend + 'static
    where
        T: Into<Bytes> + WasmCompatSend,
        U: From<Bytes> + WasmCompatSend + 'static,
    {
        let request = request.map(Into::into);
        let call = begin(&request);
        let sent = self.http.send::<Bytes, Bytes>(request);
        async move {
            let Some(mut call) = call else {
                return Ok(sent.await?.map(converted));
            };
            match call.inside(sent).await {
                Ok(response) => {
                    call.answered(response.status().as_u16());
                    Ok(response.map(|body| observed(body, call)))
                }
                Err(error) => {
                    call.fail(failure(&error));
                    Err(error)
                }
            }
        }
    }

    fn send_multipart<U>(
        &self,
        request: Request<MultipartForm>,
    ) -> impl Future<Output = Result<Response<LazyBody<U>>>> + WasmCompatSend + 'static
    where
        U: From<Bytes> + WasmCompatSend + 'static,
    {
        // Forms carry files, and ask no model for text.
        self.http.send_multipart(request)
    }

    async fn send_streaming<T>(&self, request: Request<T>) -> Result<StreamingResponse>
    where
        T: Into<Bytes> + WasmCompatSend,
    {
        let request = request.map(Into::into);
        let Some(mut call) = begin(&request) else {
            return self.http.send_streaming(request).await;
        };
        match call.inside(self.http.send_streaming(request)).await {
            Ok(response) => {
                call.answered(response.status().as_u16());
                Ok(response.map(|bytes| Box::pin(ObservedBytes::new(bytes, call)) as _))
            }
            Err(error) => {
                call.fail(failure(&error));
                Err(error)
            }
        }
    }
}

fn begin(request: &Request<Bytes>) -> Option<ObservedCall> {
    let url = request.uri().to_string();
    ObservedCall::begin(request.method().as_str(), &url, request.body())
}

fn converted<U: From<Bytes> + WasmCompatSend + 'static>(body: LazyBody<Bytes>) -> LazyBody<U> {
    Box::pin(async move { Ok(body.await?.into()) })
}

/// Returns a body that closes the span of its request.
fn observed<U: From<Bytes> + WasmCompatSend + 'static>(
    body: LazyBody<Bytes>,
    mut call: ObservedCall,
) -> LazyBody<U> {
    Box::pin(async move {
        match call.inside(body).await {
            Ok(bytes) => {
                call.push(&bytes);
                call.end();
                Ok(bytes.into())
            }
            Err(error) => {
                call.fail(failure(&error));
                Err(error)
            }
        }
    })
}

fn failure(error: &Error) -> ToolError {
    match error {
        Error::InvalidStatusCodeWithDetails { status, body, .. } => {
            refused(status.as_u16(), body.as_bytes())
        }
        Error::Protocol(_) | Error::InvalidHeaderValue(_) | Error::NoHeaders => {
            ToolError::permanent("the request is invalid")
        }
        Error::StreamEnded => ToolError::transient("the answer broke off"),
        Error::InvalidContentType(_) => {
            ToolError::permanent("the provider answered with another type of content")
        }
        // The error of a transport may name the URL with its query.
        Error::Instance(_) => ToolError::transient("failed to reach the provider"),
    }
}
