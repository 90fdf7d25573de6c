//! One attempt of a request, and its answer.

use crate::providers::framing::framer::Framing;
use crate::providers::protocol::Protocol;
use crate::transport::http::answer::AnswerCollector;
use crate::transport::http::endpoint::Endpoint;
use crate::transport::http::failure::RequestFailure;
use crate::transport::model_access::ApiKey;
use crate::transport::request_span::STATUS_CODE;
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use reqwest::{Client, Response};
use std::time::Duration;
use tokio::time::{Instant, timeout_at};
use tool_core::session::ModelStep;
use tool_core::{ToolError, trace};

/// Time limits for a provider's answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Limit for connecting. Defaults to 10 s.
    pub connect: Duration,
    /// Limit for the time without data, before the answer and within it. Defaults to 5 min, as a model may reason without
    /// output.
    pub idle: Duration,
    /// Limit for a step with all its attempts. Defaults to 15 min.
    pub total: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        let (connect, idle, total) = (Duration::from_secs(10), Duration::from_mins(5), Duration::from_mins(15));
        Self { connect, idle, total }
    }
}

/// Returns a builder for clients that do not follow redirects, as they would carry the API key to another host.
///
/// Use it for a client that several models share, or that needs a proxy or certificates.
///
/// ```
/// use tool_adapters::Provider;
/// use tool_adapters::transport::http::{HttpModel, client_builder};
///
/// let client = client_builder().user_agent("front-desk/1.0").build()?;
/// let model = HttpModel::new(Provider::Gemini, "gemini-3-flash").client(client);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn client_builder() -> reqwest::ClientBuilder {
    let timeouts = Timeouts::default();
    reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).connect_timeout(timeouts.connect)
}

/// Maximum number of bytes that are read of an error's body.
const MAX_ERROR_BODY: usize = 64 * 1024;

/// Returns the framing of an answer by its content type.
fn framing(response: &Response) -> Option<Framing> {
    Framing::of_content_type(response.headers().get(CONTENT_TYPE)?.to_str().ok()?)
}

/// One attempt of a request.
pub(crate) struct Exchange<'a> {
    pub(crate) endpoint: &'a Endpoint,
    pub(crate) client: &'a Client,
    pub(crate) deadline: Instant,
    pub(crate) idle: Duration,
    pub(crate) max_bytes: usize,
}

impl Exchange<'_> {
    /// Sends the body, and reads the answer to its end.
    pub(crate) async fn run(
        &self,
        body: &str,
        protocol: &mut dyn Protocol,
        mut answer: AnswerCollector<'_>,
    ) -> Result<ModelStep, RequestFailure> {
        let mut response = self.send(body).await?;
        if let Some(framing) = framing(&response) {
            protocol.framing(framing);
        }
        let mut bytes = 0_usize;
        let failure = loop {
            match self.chunk(&mut response).await {
                Ok(Some(chunk)) => {
                    bytes = bytes.saturating_add(chunk.as_ref().len());
                    if bytes > self.max_bytes {
                        return Err(RequestFailure::permanent(ToolError::permanent(format!(
                            "the provider's answer is larger than {} bytes; raise `max_bytes`",
                            self.max_bytes
                        ))));
                    }
                    answer.collect(protocol.push(chunk.as_ref()));
                }
                Ok(None) => break None,
                Err(failure) => break Some(failure),
            }
        };
        answer.collect(protocol.finish());
        answer.into_step(failure)
    }

    /// Returns the response if its status is a success.
    async fn send(&self, body: &str) -> Result<Response, RequestFailure> {
        let request = self
            .client
            .post(self.endpoint.url.clone())
            .headers(self.endpoint.headers.clone())
            .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
            .body(body.to_owned());
        let sent = self.with_timeout(request.send()).await?;
        let mut response = sent.map_err(|error| RequestFailure::from_transport(&error, self.key()))?;
        trace::attribute(STATUS_CODE, response.status().as_u16());
        if response.status().is_success() {
            return Ok(response);
        }
        let mut body = Vec::new();
        while let (true, Ok(Some(chunk))) = (body.len() < MAX_ERROR_BODY, self.chunk(&mut response).await) {
            body.extend_from_slice(chunk.as_ref());
        }
        body.truncate(MAX_ERROR_BODY);
        Err(RequestFailure::from_status(response.status(), response.headers(), &body, self.key()))
    }

    async fn chunk(&self, response: &mut Response) -> Result<Option<impl AsRef<[u8]> + use<>>, RequestFailure> {
        let read = self.with_timeout(response.chunk()).await?;
        read.map_err(|error| RequestFailure::from_transport(&error, self.key()))
    }

    async fn with_timeout<T>(&self, future: impl Future<Output = T>) -> Result<T, RequestFailure> {
        let idle = Instant::now() + self.idle;
        timeout_at(idle.min(self.deadline), future).await.map_err(|_| {
            if idle < self.deadline {
                RequestFailure::transient(format!("the provider sent nothing for {:?}", self.idle))
            } else {
                RequestFailure::permanent(ToolError::transient("the provider's answer exceeded the total time limit"))
            }
        })
    }

    fn key(&self) -> Option<&ApiKey> {
        self.endpoint.key.as_ref()
    }
}
