//! One request and its answer, as often as it takes.

use crate::providers::declare::Declarations;
use crate::providers::protocol::{Protocol, protocol};
use crate::transport::api_key::ApiKey;
use crate::transport::http::collect::{Collected, Seen};
use crate::transport::http::endpoint::Target;
use crate::transport::http::failure::{Again, Failure};
use crate::transport::http::{HttpModel, Listener, Settings};
use crate::transport::{http, request_span};
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use reqwest::{Client, Method, Response};
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout_at};
use tool_core::session::{Model, ModelStep};
use tool_core::{ToolError, trace};

/// The bytes of an error's body that are read.
const ERROR_BODY: usize = 64 * 1024;

impl HttpModel {
    /// Asks until there is an answer, or no hope of one.
    pub(crate) async fn ask(&mut self, body: String, declarations: &Declarations) -> Result<ModelStep, ToolError> {
        let endpoint = self.place.endpoint(self.provider, &self.model, self.streams())?;
        let client = self.connected()?;
        let deadline = Instant::now() + self.settings.timeouts.total;
        let mut failed = 0;
        loop {
            let clock = Clock { deadline, idle: self.settings.timeouts.idle };
            // Each attempt is a span of its own, in that of the question.
            let span = request_span::open_if_wanted(&Method::POST, &endpoint.url);
            let seen = if span.is_open() { Seen::new(self.about()) } else { Seen::unseen(&self.model) };
            let attempt = Attempt { endpoint: &endpoint, client: &client, settings: &self.settings, clock };
            let protocol = self.protocol.take().unwrap_or_else(|| protocol(self.provider));
            let run = attempt.run(&body, declarations, (protocol, seen), self.listener.as_mut());
            let failure = match span.inside(run).await {
                Ok((step, protocol)) => {
                    self.protocol = Some(protocol);
                    span.end();
                    return Ok(step);
                }
                Err(failure) => failure,
            };
            span.fail_with(&failure.error);
            failed += 1;
            let Some(wait) = self.wait(&failure, failed).filter(|wait| Instant::now() + *wait < deadline) else {
                return Err(failure.error);
            };
            tracing::warn!(provider = %self.provider, error = %failure.error, ?wait, "the model is asked again");
            sleep(wait).await;
        }
    }

    fn wait(&self, failure: &Failure, failed: u32) -> Option<Duration> {
        let retry = self.settings.retry;
        let own = retry.wait(failed)?;
        match failure.again {
            Again::Never => None,
            Again::Soon => Some(own),
            Again::After(asked) => (asked <= retry.asked).then_some(asked),
        }
    }

    fn connected(&mut self) -> Result<Client, ToolError> {
        if let Some(client) = &self.client {
            return Ok(client.clone());
        }
        let builder = http::client_builder().connect_timeout(self.settings.timeouts.connect);
        let client = builder.build().map_err(|error| Failure::of_transport(&error, None).error)?;
        Ok(self.client.insert(client).clone())
    }
}

/// When patience ends.
#[derive(Clone, Copy)]
struct Clock {
    deadline: Instant,
    idle: Duration,
}

impl Clock {
    async fn hold<T>(self, future: impl Future<Output = T>) -> Result<T, Failure> {
        let idle = Instant::now() + self.idle;
        timeout_at(idle.min(self.deadline), future).await.map_err(|_| {
            if idle < self.deadline {
                Failure::soon(format!("the provider has sent nothing for {:?}", self.idle))
            } else {
                Failure::never(ToolError::transient("the provider's answer took too long in all"))
            }
        })
    }
}

struct Attempt<'a> {
    endpoint: &'a Target,
    client: &'a Client,
    settings: &'a Settings,
    clock: Clock,
}

impl Attempt<'_> {
    async fn run(
        &self,
        body: &str,
        declarations: &Declarations,
        (mut protocol, seen): (Box<dyn Protocol>, Seen),
        listener: Option<&mut Listener>,
    ) -> Result<(ModelStep, Box<dyn Protocol>), Failure> {
        let mut response = self.send(body).await?;
        let mut collected = Collected::new(protocol.provider(), declarations, self.key(), listener, seen);
        let mut bytes = 0_usize;
        let broken = loop {
            match self.chunk(&mut response).await {
                Ok(Some(chunk)) => {
                    bytes = bytes.saturating_add(chunk.as_ref().len());
                    if bytes > self.settings.max_bytes {
                        return Err(self.too_large());
                    }
                    collected.take(protocol.push(chunk.as_ref()));
                }
                Ok(None) => break None,
                Err(failure) => break Some(failure),
            }
        };
        collected.take(protocol.finish());
        Ok((collected.step(broken)?, protocol))
    }

    /// The response, once its status is a good one.
    async fn send(&self, body: &str) -> Result<Response, Failure> {
        let request = self
            .client
            .post(self.endpoint.url.clone())
            .headers(self.endpoint.headers.clone())
            .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
            .body(body.to_owned());
        let sent = self.clock.hold(request.send()).await?;
        let mut response = sent.map_err(|error| Failure::of_transport(&error, self.key()))?;
        trace::attribute(request_span::STATUS_CODE, response.status().as_u16());
        if response.status().is_success() {
            return Ok(response);
        }
        let mut body = Vec::new();
        while let (true, Ok(Some(chunk))) = (body.len() < ERROR_BODY, self.chunk(&mut response).await) {
            body.extend_from_slice(chunk.as_ref());
        }
        body.truncate(ERROR_BODY);
        Err(Failure::of_answer(response.status(), response.headers(), &body, self.key()))
    }

    async fn chunk(&self, response: &mut Response) -> Result<Option<impl AsRef<[u8]> + use<>>, Failure> {
        let read = self.clock.hold(response.chunk()).await?;
        read.map_err(|error| Failure::of_transport(&error, self.key()))
    }

    fn key(&self) -> Option<&ApiKey> {
        self.endpoint.key.as_ref()
    }

    fn too_large(&self) -> Failure {
        let most = self.settings.max_bytes;
        Failure::never(ToolError::permanent(format!(
            "the provider's answer is larger than {most} bytes; raise `max_bytes`"
        )))
    }
}
