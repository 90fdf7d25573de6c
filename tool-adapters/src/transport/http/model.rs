//! A model behind an HTTP API.

use crate::providers::declarations::{Declarations, DeclareOptions};
use crate::providers::declare::declare_tools;
use crate::providers::event::Event;
use crate::providers::protocol::{Protocol, protocol};
use crate::providers::provider::Provider;
use crate::providers::request::Request;
use crate::transport::http::answer::{Answer, AnswerCollector, EventListener, UsageReporter};
use crate::transport::http::exchange::{Endpoint, http_api};
use crate::transport::http::exchange::{Exchange, Timeouts, client_builder};
use crate::transport::http::failure::{RequestFailure, RetryAdvice};
use crate::transport::model_access::{ApiKey, ModelAccess, RetryPolicy, model_info};
use crate::transport::request_span;

use reqwest::{Client, Method};
use serde_json::{Map, Value};
use std::fmt;
use std::sync::{Arc, OnceLock};
use tokio::time::{Instant, sleep};
use tool_core::session::{Model, ModelInfo, ModelRequest, ModelStep};
use tool_core::{ProviderTool, ToolError};

/// A model of a provider, over HTTP. See the [module](super).
#[must_use]
pub struct HttpModel {
    provider: Provider,
    model: String,
    access: ModelAccess,
    declare: DeclareOptions,
    max_tokens: Option<u32>,
    extra: Map<String, Value>,
    stream: bool,
    retry: RetryPolicy,
    timeouts: Timeouts,
    max_bytes: usize,
    client: Option<Client>,
    /// The state after the last successful answer, with the ids of the conversation.
    protocol: Option<Box<dyn Protocol>>,
    /// The declarations of the last request, and its provider tools.
    declared: Option<(Declarations, Vec<Arc<dyn ProviderTool>>)>,
    info: OnceLock<ModelInfo>,
    listener: Option<EventListener>,
}

impl HttpModel {
    /// Creates a model by its name at the provider.
    pub fn new(provider: Provider, model: impl Into<String>) -> Self {
        Self {
            provider,
            model: model.into(),
            access: ModelAccess::default(),
            declare: DeclareOptions::default(),
            max_tokens: None,
            extra: Map::new(),
            stream: true,
            retry: RetryPolicy::default(),
            timeouts: Timeouts::default(),
            max_bytes: 64 * 1024 * 1024,
            client: None,
            protocol: None,
            declared: None,
            info: OnceLock::new(),
            listener: None,
        }
    }

    /// Sets the API key. It is left out of `Debug`, errors and logs.
    pub fn api_key(mut self, key: impl AsRef<str>) -> Self {
        self.access.api_key = Some(ApiKey::new(key.as_ref()));
        self
    }

    /// Sets the base URL, to which the paths of the API are appended. Its query is kept.
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.access.base_url = Some(url.into());
        // The URL decides who bills.
        self.info = OnceLock::new();
        self
    }

    /// Adds a header to every request, such as a project or a beta. It replaces a header of the provider.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.access.headers.push((name.into(), value.into()));
        self
    }

    /// Sets the options for declaring the tools.
    pub fn declare_options(mut self, options: DeclareOptions) -> Self {
        (self.declare, self.declared) = (options, None);
        self
    }

    /// Sets the maximum number of tokens of an answer.
    pub fn max_tokens(mut self, tokens: u32) -> Self {
        self.max_tokens = Some(tokens);
        self
    }

    /// Adds a setting of the provider to the top level of the request's body, such as `temperature`.
    pub fn setting(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.extra.insert(name.into(), value.into());
        self
    }

    /// Enables or disables streaming. Defaults to true. Bedrock never streams.
    pub fn stream(mut self, stream: bool) -> Self {
        self.stream = stream;
        self
    }

    /// Sets the policy for retries.
    pub fn retry(mut self, retry: RetryPolicy) -> Self {
        self.retry = retry;
        self
    }

    /// Sets the time limits. The limit for connecting does not apply to a [`client`](Self::client) of the program.
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self
    }

    /// Sets the maximum size of an answer in bytes. Defaults to 64 MiB.
    pub fn max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Sets the client. Build it with [`client_builder`]: a client that follows redirects sends the key along.
    pub fn client(mut self, client: Client) -> Self {
        self.client = Some(client);
        self
    }

    /// Sets a function that sees the events of answers as they arrive. It runs on the task of the reply, so it has to be
    /// quick. Calls have the tools' own names. They run after the answer is complete.
    pub fn on_event(mut self, listener: impl FnMut(&Event) + Send + 'static) -> Self {
        self.listener = Some(Box::new(listener));
        self
    }

    /// Returns the tools in the provider's form. Declares them again only if they have changed.
    fn declarations(&mut self, request: &ModelRequest<'_>) -> Declarations {
        let same_tool = |(ours, theirs): (&Arc<dyn ProviderTool>, _)| Arc::ptr_eq(ours, theirs);
        if let Some((declarations, tools)) = &self.declared
            && declarations.of_same_tools(request.tools)
            && tools.len() == request.provider_tools.len()
            && tools.iter().zip(request.provider_tools).all(same_tool)
        {
            return declarations.clone();
        }
        let declarations = declare_tools(self.provider, request.tools, request.provider_tools, self.declare);
        for warning in &declarations.report().warnings {
            tracing::warn!(provider = %self.provider, "{warning}");
        }
        self.declared.insert((declarations, request.provider_tools.to_vec())).0.clone()
    }

    /// Sends a request until there is an answer, or no attempt is left.
    async fn send(&mut self, body: &str, declarations: &Declarations, stream: bool) -> Result<ModelStep, ToolError> {
        let endpoint = Endpoint::new(self.provider, &self.access, &self.model, stream)?;
        let client = self.shared_client()?;
        let deadline = Instant::now() + self.timeouts.total;
        let idle = self.timeouts.idle;
        let exchange = Exchange { endpoint: &endpoint, client: &client, deadline, idle, max_bytes: self.max_bytes };
        let mut failed = 0;
        loop {
            let span = request_span::open(&Method::POST, &endpoint.url, true);
            // Without a span nothing is reported, so that no biller is looked up.
            let info = span.is_open().then(|| self.about());
            let answer = AnswerCollector {
                provider: self.provider,
                model: &self.model,
                declarations,
                key: endpoint.key.as_ref(),
                listener: self.listener.as_mut(),
                usage: UsageReporter::new(info),
                answer: Answer::default(),
            };
            let mut protocol = self.protocol.take().unwrap_or_else(|| protocol(self.provider));
            let failure = match span.inside(exchange.run(body, &mut *protocol, answer)).await {
                Ok(step) => {
                    self.protocol = Some(protocol);
                    span.end();
                    return Ok(step);
                }
                Err(failure) => failure,
            };
            span.fail_with(&failure.error);
            failed += 1;
            let delay = self.retry_delay(&failure, failed).filter(|delay| Instant::now() + *delay < deadline);
            let Some(delay) = delay else { return Err(failure.error) };
            tracing::warn!(provider = %self.provider, error = %failure.error, ?delay, "retrying a request to a model");
            sleep(delay).await;
        }
    }

    fn retry_delay(&self, failure: &RequestFailure, failed: u32) -> Option<std::time::Duration> {
        let backoff = self.retry.delay(failed)?;
        match failure.retry {
            RetryAdvice::Never => None,
            RetryAdvice::Backoff => Some(backoff),
            RetryAdvice::After(delay) => (delay <= self.retry.max_retry_after).then_some(delay),
        }
    }

    fn shared_client(&mut self) -> Result<Client, ToolError> {
        if let Some(client) = &self.client {
            return Ok(client.clone());
        }
        let builder = client_builder().connect_timeout(self.timeouts.connect);
        let client = builder.build().map_err(|error| RequestFailure::from_transport(&error, None).error)?;
        Ok(self.client.insert(client).clone())
    }
}

impl Model for HttpModel {
    async fn step(&mut self, request: ModelRequest<'_>) -> Result<ModelStep, ToolError> {
        let declarations = self.declarations(&request);
        let stream = self.stream && http_api(self.provider).is_ok_and(|http| http.streams);
        let body = self.protocol.get_or_insert_with(|| protocol(self.provider)).request(&Request {
            model: &self.model,
            instructions: request.instructions,
            history: request.history,
            declarations: &declarations,
            tool_choice: request.tool_choice,
            stream,
            max_tokens: self.max_tokens,
            extra: &self.extra,
        });
        self.send(&body.to_string(), &declarations, stream).await
    }

    fn about(&self) -> ModelInfo {
        let url = || http_api(self.provider).map(|http| self.access.base_url(&http.server)).unwrap_or_default();
        self.info.get_or_init(|| model_info(self.provider, &self.model, &url())).clone()
    }
}

impl fmt::Debug for HttpModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpModel")
            .field("provider", &self.provider)
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}
