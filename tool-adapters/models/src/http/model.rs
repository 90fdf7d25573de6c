//! A model behind an HTTP API.

use crate::http::answer::{Answer, AnswerCollector, EventListener, FailedUsage, UsageReporter};
use crate::http::exchange::{Endpoint, Exchange, Timeouts, client_builder, http_api};
use crate::http::failure::{RequestFailure, RetryAdvice};
use crate::http::idempotency::IdempotencyKey;
use crate::http::recording::Recording;
use crate::http::refused_files::RefusedFiles;
use crate::model_access::{ProviderModel, model_info};
use reqwest::{Client, Method};
use serde_json::Value;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout_at};
use tool_adapters_http::base_url::{host_of, is_local};
use tool_adapters_http::request_span;
use tool_adapters_providers::declare::RequestTools;
use tool_adapters_providers::request::output_limit;
use tool_adapters_providers::{
    Declarations, DeclareOptions, Event, Host, ModelSettings, Protocol, Provider, ReasoningBack,
    RefusedParts, Request, StructuredOutput, TokenLimit, cache_prompt, protocol,
};
use tool_core::session::{
    EventSender, FallbackModel, Message, Model, ModelInfo, ModelRequest, ModelStep,
    RepairedMessages, Repairs, ToolChoice, UserMessage,
};
use tool_core::trace::TokenUsage;
use tool_core::{ErrorKind, ProviderTool, ToolDefinition, ToolError, time};

/// A model of a provider, over HTTP. See the [module](super).
///
/// ```no_run
/// use tool_adapters::Provider;
/// use tool_adapters::agent::AgentLoop;
/// use tool_adapters::providers::Event;
/// use tool_adapters::transport::http::HttpModel;
/// use tool_core::Session;
///
/// async fn talk(session: Session) {
///     let model = HttpModel::new(Provider::OpenAiChat, "our-model")
///         .base_url("https://gateway.example/v1")
///         .api_key("sk-1") // left out of `Debug`, errors and logs
///         .max_tokens(2_000)
///         .setting("temperature", 0.2) // any member of the request's body
///         .on_event(|event| if let Event::Text(piece) = event { print!("{piece}") });
///     let reply = AgentLoop::new(session, model).prompt("What is on my calendar?").await;
///     println!("{:?} {:?}", reply.usage, reply.error);
/// }
/// ```
pub type HttpModel = ProviderModel<HttpTransport>;

/// Declarations, with their options and provider tools.
type CachedDeclarations = (Declarations, DeclareOptions, Vec<Arc<dyn ProviderTool>>);

/// The settings and the state of an [`HttpModel`] that a live model does not have.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a setting or a fact of its own"
)]
#[derive(Default)]
pub struct HttpTransport {
    max_tokens: Option<u32>,
    stream: bool,
    pub(crate) timeouts: Timeouts,
    max_bytes: usize,
    client: Option<Client>,
    /// The client that the model created, and true if it is for servers on this machine.
    own_client: Option<(bool, Client)>,
    /// The state after the last successful answer, with the ids of the conversation.
    protocol: Option<Box<dyn Protocol>>,
    /// The declarations of the last request.
    declared: Option<CachedDeclarations>,
    failed_usage: FailedUsage,
    /// True if the listener has seen a part of the last step's answer.
    has_shown_output: bool,
    /// The requests that ask for a typed answer in the provider's form. `None` for those that the
    /// server is known to take.
    structured_output: Option<StructuredOutput>,
    /// True once the server has refused that form.
    refuses_structured_output: bool,
    pub(crate) settings: ModelSettings,
    /// True if the provider is asked to keep the beginning of requests.
    pub(crate) caches_prompt: bool,
    /// Changes the body for a host that wants another form.
    pub(crate) finish_body: Option<fn(&mut Value)>,
    pub(crate) refused_files: RefusedFiles,
    listener: Option<EventListener>,
    /// The base URL of another server whose API this one has.
    server_like: Option<String>,
    reasoning_back: Option<ReasoningBack>,
    token_limit: Option<TokenLimit>,
    /// The repairs of the history in the last request.
    repairs: Repairs,
    pub(crate) recording: Option<Recording>,
}

impl ProviderModel<HttpTransport> {
    /// Creates a model by its name at the provider.
    pub fn new(provider: Provider, model: impl Into<String>) -> Self {
        let transport = HttpTransport {
            stream: true,
            max_bytes: 64 * 1024 * 1024,
            ..HttpTransport::default()
        };
        Self::over(transport, provider, model.into())
    }

    /// Sets the maximum number of tokens of an answer.
    pub fn max_tokens(self, tokens: u32) -> Self {
        Self {
            transport: HttpTransport {
                max_tokens: Some(tokens),
                ..self.transport
            },
            ..self
        }
    }

    /// Enables or disables streaming. Defaults to true.
    pub fn stream(self, stream: bool) -> Self {
        Self {
            transport: HttpTransport {
                stream,
                ..self.transport
            },
            ..self
        }
    }

    /// Sets the requests in which a typed answer is asked for in the provider's form for structured
    /// output, such as `response_format`.
    ///
    /// The default is what the provider's documents say about the model and the server. A server
    /// that no table knows gets the form where the model may not call tools. If a server refuses
    /// the form, the request is sent again without, and so are later ones.
    pub fn structured_output(self, requests: StructuredOutput) -> Self {
        let transport = HttpTransport {
            structured_output: Some(requests),
            ..self.transport
        };
        Self { transport, ..self }
    }

    /// Sets the time limits. The limit for connecting does not apply to a [`client`](Self::client)
    /// of the program.
    pub fn timeouts(self, timeouts: Timeouts) -> Self {
        Self {
            transport: HttpTransport {
                timeouts,
                ..self.transport
            },
            ..self
        }
    }

    /// Sets the maximum size of an answer in bytes. Defaults to 64 MiB.
    pub fn max_bytes(self, bytes: usize) -> Self {
        Self {
            transport: HttpTransport {
                max_bytes: bytes,
                ..self.transport
            },
            ..self
        }
    }

    /// Sets the client. Build it with [`client_builder`]: a client that follows redirects sends the
    /// key along.
    pub fn client(self, client: Client) -> Self {
        Self {
            transport: HttpTransport {
                client: Some(client),
                ..self.transport
            },
            ..self
        }
    }

    /// Sets a function that sees the events of answers as they arrive. It runs on the task of the
    /// reply, so it has to be quick. Calls have the tools' own names. They run after the answer is
    /// complete.
    pub fn on_event(self, listener: impl FnMut(&Event) + Send + 'static) -> Self {
        Self {
            transport: HttpTransport {
                listener: Some(Box::new(listener)),
                ..self.transport
            },
            ..self
        }
    }

    /// Records the requests of the model and their answers, or answers them from a file: see
    /// [`Recording`]. A model that is replayed needs no key, and asks for none.
    pub fn recording(mut self, recording: &Recording) -> Self {
        self.access.is_replayed = recording.is_replay();
        self.transport.recording = Some(recording.clone());
        self
    }

    /// Treats the server as the one at another base URL, whose API it has, such as a gateway in
    /// front of it: what goes back, whether a call can be forced, and the name of the limit of
    /// tokens are those of the other server.
    pub fn server_like(self, base_url: impl Into<String>) -> Self {
        Self {
            transport: HttpTransport {
                server_like: Some(base_url.into()),
                ..self.transport
            },
            ..self
        }
    }

    /// Sets the steps of the history that go back as the server sent them, with reasoning and
    /// signatures. The others go back as their text and calls.
    ///
    /// The default is what is known about the server of the base URL, and all steps for a server of
    /// which nothing is known.
    pub fn reasoning_back(self, steps: ReasoningBack) -> Self {
        Self {
            transport: HttpTransport {
                reasoning_back: Some(steps),
                ..self.transport
            },
            ..self
        }
    }

    /// Sets the member of a request that [`max_tokens`](Self::max_tokens) goes into, for
    /// `OpenAiChat` and the other providers with Chat Completions.
    ///
    /// The default is what is known about the server of the base URL, and `max_tokens` for a server
    /// of which nothing is known.
    pub fn token_limit(self, member: TokenLimit) -> Self {
        Self {
            transport: HttpTransport {
                token_limit: Some(member),
                ..self.transport
            },
            ..self
        }
    }

    /// Returns a model that asks `other` where this one fails: see [`FallbackModel`].
    ///
    /// ```
    /// use tool_adapters::Provider;
    /// use tool_adapters::agent::RetryPolicy;
    /// use tool_adapters::transport::http::HttpModel;
    ///
    /// let model = HttpModel::new(Provider::OpenAiResponses, "gpt-5")
    ///     .retry(RetryPolicy { attempts: 2, ..RetryPolicy::default() })
    ///     .or(HttpModel::new(Provider::Anthropic, "claude-sonnet-5"));
    /// # let _ = model;
    /// ```
    pub fn or<M: Model>(self, other: M) -> FallbackModel<Self, M> {
        FallbackModel::new(self, other)
    }

    /// Returns what was repaired in the history of the last request, such as a call without a result. The history itself stays
    /// as it is: see [`History::repair`](tool_core::session::History::repair).
    pub fn history_repairs(&self) -> &Repairs {
        &self.transport.repairs
    }

    /// Returns the base URL of the server.
    fn server_url(&self) -> String {
        http_api(self.provider)
            .map(|http| self.access.base_url(&http.server))
            .unwrap_or_default()
    }

    /// Returns the host of the server in lower case.
    pub(crate) fn server_host(&self) -> String {
        host_of(&self.server_url()).to_ascii_lowercase()
    }

    /// Checks that the server takes every part of a message, as [`Host::check_message`] does. Each
    /// request checks the newest message of the user by itself.
    ///
    /// # Errors
    ///
    /// The server does not take a part. The error names every such part, and says what to do.
    pub fn check_message(&self, message: &UserMessage) -> Result<(), RefusedParts> {
        self.host().check_message(message)
    }

    /// Checks that the server takes every part of the message that the model has not read yet.
    pub(crate) fn check_files(&self, history: &[Message]) -> Result<(), ToolError> {
        self.host()
            .check_history(history)
            .map_err(|refused| ToolError::permanent(refused.to_string()))
    }

    /// Returns the server, with the settings of the program.
    fn host(&self) -> Host {
        let base_url = self.server_url();
        let mut host = Host::at(self.provider, &base_url);
        if let Some(other) = &self.transport.server_like {
            host = host.like(self.provider, other);
        }
        if let Some(steps) = self.transport.reasoning_back {
            host = host.reasoning_back(steps);
        }
        if let Some(member) = self.transport.token_limit {
            host = host.token_limit(member);
        }
        self.with_accepted(host)
    }

    /// Repairs a history for a request, and logs what was missing in it, once.
    fn repair<'h>(&mut self, history: &'h [Message]) -> RepairedMessages<'h> {
        let repaired = RepairedMessages::of(history);
        if self.transport.repairs != repaired.repairs {
            if repaired.repairs.found_damage() {
                tracing::warn!(provider = %self.provider, "the history of a request was repaired: {}", repaired.repairs);
            }
            self.transport.repairs = repaired.repairs.clone();
        }
        repaired
    }

    /// Returns true if a request asks for its typed answer in the provider's form for structured
    /// output.
    pub(crate) fn wants_structured_output(&self, request: &ModelRequest<'_>, host: &str) -> bool {
        let Some(form) = self.provider.spec().answer_form else {
            return false;
        };
        let takes_answer = request.tools.iter().any(ToolDefinition::takes_answer);
        if !takes_answer || self.transport.refuses_structured_output || form.is_set_in(&self.extra)
        {
            return false;
        }
        let has_tools = request.tools.len() > 1
            || !request.searchable.is_empty()
            || !request.provider_tools.is_empty();
        let may_call =
            has_tools && !matches!(request.tool_choice, ToolChoice::Answer | ToolChoice::None);
        let requests = self
            .transport
            .structured_output
            .unwrap_or_else(|| (form.support)(&self.model, host));
        requests.takes(has_tools, may_call)
    }

    /// Returns the tools in the provider's form. Declares them again only if they have changed.
    fn declarations(&mut self, request: &ModelRequest<'_>, structured: bool) -> Declarations {
        let wanted = RequestTools::new(
            self.provider,
            request.tools,
            request.searchable,
            self.declare,
        );
        let wanted = wanted.structured(structured);
        let same_tool = |(ours, theirs): (&Arc<dyn ProviderTool>, _)| Arc::ptr_eq(ours, theirs);
        if let Some((declarations, options, tools)) = &self.transport.declared
            && *options == self.declare
            && wanted.are_of(declarations)
            && tools.len() == request.provider_tools.len()
            && tools.iter().zip(request.provider_tools).all(same_tool)
        {
            return declarations.clone();
        }
        let declarations = wanted.declare(self.provider, request.provider_tools, self.declare);
        for warning in &declarations.report().warnings {
            tracing::warn!(provider = %self.provider, "{warning}");
        }
        self.transport
            .declared
            .insert((declarations, self.declare, request.provider_tools.to_vec()))
            .0
            .clone()
    }

    /// Asks the model. If the server refuses the request, asks it again without the files of results,
    /// and then without all files of earlier messages.
    async fn ask_with_files(
        &mut self,
        request: ModelRequest<'_>,
        structured: bool,
        host: &str,
        deadline: Instant,
    ) -> Result<ModelStep, RequestFailure> {
        let refused = &mut self.transport.refused_files;
        refused.forget_lost_messages(request.history);
        let history = refused.left_out_of(request.history);
        let lighter = ModelRequest {
            history: &history,
            ..request
        };
        let failure = match self.ask(lighter, structured, host, deadline).await {
            Ok(step) => return Ok(step),
            Err(failure) => failure,
        };
        if !failure.is_refused_request() {
            return Err(failure);
        }
        for files in self.transport.refused_files.suspects(request.history) {
            // An answer of which a part was shown is not begun again.
            if self.transport.has_shown_output {
                break;
            }
            let history = files.of(request.history);
            let lighter = ModelRequest {
                history: &history,
                ..request
            };
            let step = match self.ask(lighter, structured, host, deadline).await {
                Ok(step) => step,
                // These files were not the reason.
                Err(again) if again.is_refused_request() => continue,
                Err(again) => return Err(again),
            };
            tracing::warn!(provider = %self.provider, error = %failure.error, "the server refused images or files of earlier messages; they are left out");
            self.transport.refused_files.leave_out(files);
            return Ok(step);
        }
        Err(failure)
    }

    /// Writes a request. With `structured`, a typed answer is asked for in the provider's form.
    pub(crate) fn prepare(
        &mut self,
        request: ModelRequest<'_>,
        structured: bool,
        host: &str,
    ) -> Result<PreparedRequest, ToolError> {
        let declarations = self.declarations(&request, structured);
        let stream = self.transport.stream;
        let mut instructions = Cow::Borrowed(request.instructions);
        if let Some(answer) = declarations.answer()
            && !http_api(self.provider).is_ok_and(|http| http.server.is_at(host))
        {
            // Other servers may pass over the form.
            instructions
                .to_mut()
                .push_str("\nThe JSON of the answer has this schema: ");
            instructions.to_mut().push_str(&answer.schema);
            instructions.to_mut().push('\n');
        }
        let repaired = self.repair(request.history);
        let server = self.host();
        let request = Request {
            model: &self.model,
            instructions: &instructions,
            history: &repaired.messages,
            declarations: &declarations,
            tool_choice: request.tool_choice,
            stream,
            max_tokens: self.transport.max_tokens,
            extra: &self.extra,
        };
        let body = write_body(&mut self.transport, self.provider, &server, &request)?;
        Ok(PreparedRequest {
            body,
            declarations,
            stream,
        })
    }

    /// Asks the model. With `structured`, a typed answer is asked for in the provider's form.
    async fn ask(
        &mut self,
        request: ModelRequest<'_>,
        structured: bool,
        host: &str,
        deadline: Instant,
    ) -> Result<ModelStep, RequestFailure> {
        let events = request.events;
        let prepared = self
            .prepare(request, structured, host)
            .map_err(RequestFailure::permanent)?;
        let mut step = self.send(&prepared, deadline, events).await?;
        step.max_tokens = output_limit(&prepared.body);
        step.text = step
            .text
            .map(|text| prepared.declarations.restore_answer(text));
        Ok(step)
    }

    /// Sends a request until there is an answer, or no attempt is left.
    async fn send(
        &mut self,
        prepared: &PreparedRequest,
        deadline: Instant,
        events: Option<&EventSender>,
    ) -> Result<ModelStep, RequestFailure> {
        let body = prepared.body.to_string();
        // All attempts have one key, so that a server which knows it answers the request once.
        let idempotency = http_api(self.provider)
            .ok()
            .and_then(|http| IdempotencyKey::new(http.idempotency_header?));
        let idle = self.transport.timeouts.idle;
        let max_bytes = self.transport.max_bytes;
        let turn_id = self.host().turn_id();
        let late = |_| {
            RequestFailure::transient(
                "no API key or credentials were provided within the total time limit",
            )
        };
        let recording = self.transport.recording.clone();
        let mut failed = 0;
        let mut is_renewed = false;
        loop {
            // The key may have expired between two attempts.
            let endpoint = Endpoint::new(self.provider, &self.access, &self.model, prepared.stream);
            let mut endpoint = timeout_at(deadline, endpoint)
                .await
                .map_err(late)?
                .map_err(RequestFailure::permanent)?;
            if let Some(key) = &idempotency {
                key.add_to(&mut endpoint.headers);
            }
            let client = self.shared_client(is_local(endpoint.url.host_str().unwrap_or_default()));
            let client = client.map_err(RequestFailure::permanent)?;
            let exchange = Exchange {
                endpoint: &endpoint,
                client: &client,
                deadline,
                idle,
                max_bytes,
                recording: recording.as_ref(),
            };
            let span = request_span::open(&Method::POST, &endpoint.url, true);
            // Without a span nothing is reported, so that no biller is looked up.
            let info = span.is_open().then(|| self.about());
            let answer = AnswerCollector {
                provider: self.provider,
                model: &self.model,
                turn_id: turn_id.clone(),
                declarations: &prepared.declarations,
                key: Some(&endpoint.hidden),
                listener: self.transport.listener.as_mut(),
                has_shown_output: &mut self.transport.has_shown_output,
                events,
                usage: UsageReporter::new(info, Arc::clone(&self.transport.failed_usage)),
                answer: Answer::default(),
            };
            let mut protocol = self
                .transport
                .protocol
                .take()
                .unwrap_or_else(|| protocol(self.provider));
            let failure = match span
                .inside(exchange.run(&body, &mut *protocol, answer))
                .await
            {
                Ok(step) => {
                    self.transport.protocol = Some(protocol);
                    span.end();
                    return Ok(step);
                }
                Err(failure) => failure,
            };
            span.fail_with(&failure.error);
            let is_refused =
                failure.error.kind() == ErrorKind::Auth && !self.transport.has_shown_output;
            // Only a refusal tells that a key is of no use.
            if is_refused && self.forget_access(&endpoint, &failure) && !is_renewed {
                is_renewed = true;
                continue;
            }
            failed += 1;
            let delay = self
                .retry_delay(&failure, failed)
                .filter(|delay| time::after(Instant::now(), *delay) < deadline);
            let Some(delay) = delay else {
                return Err(failure);
            };
            tracing::warn!(provider = %self.provider, error = %failure.error, ?delay, "retrying a request to a model");
            sleep(delay).await;
        }
    }

    /// Forgets the key or the credentials that a server has refused. Returns true if the next
    /// request may have others.
    #[cfg_attr(not(feature = "aws"), expect(unused_variables))]
    fn forget_access(&self, endpoint: &Endpoint, failure: &RequestFailure) -> bool {
        let is_forgotten = self.access.forget_key(endpoint.key.as_ref());
        #[cfg(feature = "aws")]
        let is_forgotten = is_forgotten
            || endpoint
                .signer
                .as_ref()
                .is_some_and(|signer| signer.forget_refused(failure));
        is_forgotten
    }

    fn retry_delay(&self, failure: &RequestFailure, failed: u32) -> Option<Duration> {
        match failure.retry {
            RetryAdvice::Never => None,
            RetryAdvice::Backoff => self.retry.delay(failed),
            RetryAdvice::After(asked) => self.retry.delay_asked(failed, asked),
        }
    }

    /// Returns the client of the program, or one for servers on this machine, or one for all
    /// others. A proxy of the environment is not used for this machine, as the proxy could read the
    /// key.
    pub(crate) fn shared_client(&mut self, is_local: bool) -> Result<Client, ToolError> {
        let own = self
            .transport
            .own_client
            .as_ref()
            .filter(|(local, _)| *local == is_local);
        if let Some(client) = self
            .transport
            .client
            .as_ref()
            .or(own.map(|(_, client)| client))
        {
            return Ok(client.clone());
        }
        let builder = client_builder().connect_timeout(self.transport.timeouts.connect);
        let builder = if is_local {
            builder.no_proxy()
        } else {
            builder
        };
        let client = builder
            .build()
            .map_err(|error| RequestFailure::from_transport(&error, None).error)?;
        Ok(self
            .transport
            .own_client
            .insert((is_local, client))
            .1
            .clone())
    }
}

/// A request that can be sent.
pub(crate) struct PreparedRequest {
    pub(crate) body: Value,
    declarations: Declarations,
    stream: bool,
}

/// Writes the body of a request, with the settings of the program.
fn write_body(
    transport: &mut HttpTransport,
    provider: Provider,
    host: &Host,
    request: &Request<'_>,
) -> Result<Value, ToolError> {
    let protocol = transport.protocol.get_or_insert_with(|| protocol(provider));
    protocol.host(host.clone());
    let mut body = protocol.request(request);
    transport
        .settings
        .write(provider, host, request, &mut body)
        .map_err(ToolError::permanent)?;
    if transport.caches_prompt {
        cache_prompt(provider, host, request, &mut body);
    }
    if let Some(finish) = transport.finish_body {
        finish(&mut body);
    }
    Ok(body)
}

impl Model for HttpModel {
    async fn step(&mut self, request: ModelRequest<'_>) -> Result<ModelStep, ToolError> {
        self.transport.has_shown_output = false;
        let deadline = time::after(Instant::now(), self.transport.timeouts.total);
        self.check_files(request.history)?;
        let mut host = String::new();
        if request.tools.iter().any(ToolDefinition::takes_answer) {
            host = self.server_host();
        }
        let structured = self.wants_structured_output(&request, &host);
        // The compiler limits the depth of futures inside each other, and the program has its own.
        let answer = Box::pin(self.ask_with_files(request, structured, &host, deadline));
        let failure = match answer.await {
            Ok(step) => return Ok(step),
            Err(failure) => failure,
        };
        let is_refused = structured && failure.refuses_structured_output();
        if !is_refused || self.transport.has_shown_output {
            return Err(failure.error);
        }
        tracing::warn!(provider = %self.provider, error = %failure.error, "the server takes no form of the answer here");
        let step = Box::pin(self.ask_with_files(request, false, &host, deadline));
        let step = step.await.map_err(|failure| failure.error)?;
        self.transport.refuses_structured_output = true;
        Ok(step)
    }

    fn take_failed_usage(&mut self) -> TokenUsage {
        std::mem::take(&mut *self.transport.failed_usage.lock())
    }

    fn has_shown_output(&self) -> bool {
        self.transport.has_shown_output
    }

    fn about(&self) -> ModelInfo {
        // The URL decides who bills.
        model_info(self.provider, &self.model, &self.server_url())
    }
}
