//! Spans for the model calls of genai.

use futures_core::Stream;
use genai::chat::{
    ChatOptions, ChatRequest, ChatResponse, ChatStream, ChatStreamEvent, StreamEnd, Usage,
};
use genai::{Client, Error, ModelIden, ModelSpec, Result, webc};
use std::ops::Deref;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tool_adapters_http::biller::biller_of_url;
use tool_adapters_http::observed_call::refused;
use tool_core::ToolError;
use tool_core::trace::{self, ModelUsage, SpanHandle, SpanKind, TokenUsage};

/// The attribute for the provider.
const PROVIDER: &str = "gen_ai.provider.name";

/// Gives each chat of a client a span, as our own models have one: with its model, usage, cost, error and time.
///
/// The result is used as the client: its `exec_chat` and `exec_chat_stream` have spans, and its other methods are those of
/// the client. The span of a stream ends with the stream, and if you drop a stream before its end, the span is cancelled.
/// genai tells the usage of a stream at its end only, and `capture_usage` is turned on for you. Spans are opened inside
/// other spans, or once the process collects spans ([`start`](tool_core::trace::start)).
///
/// ```no_run
/// use genai::Client;
/// use genai::chat::ChatRequest;
/// use tool_adapters::interop::genai::observe;
///
/// # async fn ask() -> genai::Result<()> {
/// let client = observe(Client::new()?);
/// let response = client.exec_chat("gpt-5-mini", ChatRequest::from_user("Hello"), None).await?;
/// # let _ = response;
/// # Ok(())
/// # }
/// ```
pub fn observe(client: Client) -> ObservedClient {
    ObservedClient { client }
}

/// A client of genai whose chats have spans: see [`observe`].
#[derive(Clone, Debug)]
#[must_use]
pub struct ObservedClient {
    client: Client,
}

impl Deref for ObservedClient {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl ObservedClient {
    /// Does what [`Client::exec_chat`] does, in a span.
    pub async fn exec_chat(
        &self,
        model: impl Into<ModelSpec>,
        request: ChatRequest,
        options: Option<&ChatOptions>,
    ) -> Result<ChatResponse> {
        let model = model.into();
        let span = open(&model);
        let biller = biller_of_target(&model);
        let asked = self.client.exec_chat(model, request, options);
        let asked = span.inside(asked).await;
        match &asked {
            Ok(response) => {
                let biller = biller.unwrap_or_else(|| biller_of_model(&response.model_iden));
                let used = usage_of_response(response).provider(biller);
                span.attribute(PROVIDER, biller);
                span.run(|| trace::record(used));
                span.end();
            }
            Err(error) => span.fail_with(&failure(error)),
        }
        asked
    }

    /// Does what [`Client::exec_chat_stream`] does, in a span that ends with the stream.
    pub async fn exec_chat_stream(
        &self,
        model: impl Into<ModelSpec>,
        request: ChatRequest,
        options: Option<&ChatOptions>,
    ) -> Result<ObservedStreamResponse> {
        let model = model.into();
        let span = open(&model);
        let biller = biller_of_target(&model);
        let options = options.cloned().unwrap_or_default();
        let options = options.with_capture_usage(true);
        let asked = self.client.exec_chat_stream(model, request, Some(&options));
        match span.inside(asked).await {
            Ok(response) => {
                let biller = biller.unwrap_or_else(|| biller_of_model(&response.model_iden));
                span.attribute(PROVIDER, biller);
                Ok(ObservedStreamResponse {
                    stream: ObservedStream {
                        stream: response.stream,
                        model: response.model_iden.clone(),
                        biller,
                        span: Some(span),
                    },
                    model_iden: response.model_iden,
                })
            }
            Err(error) => {
                span.fail_with(&failure(&error));
                Err(error)
            }
        }
    }
}

/// The answer of [`ObservedClient::exec_chat_stream`], with the members of genai's own.
#[derive(Debug)]
pub struct ObservedStreamResponse {
    /// The events of the answer.
    pub stream: ObservedStream,
    /// The model that answers.
    pub model_iden: ModelIden,
}

/// The events of an answer, which close the span of its request.
pub struct ObservedStream {
    stream: ChatStream,
    model: ModelIden,
    /// The provider that bills the request.
    biller: &'static str,
    /// `None` once the span is closed. Dropping it closes it as cancelled.
    span: Option<SpanHandle>,
}

impl ObservedStream {
    fn end(&mut self, end: &StreamEnd) {
        let Some(span) = self.span.take() else {
            return;
        };
        let usage = end.captured_usage.as_ref();
        let model = self.model.model_name.to_string();
        let mut used = ModelUsage::new(model, usage.map(tokens).unwrap_or_default());
        used = used.provider(self.biller);
        used.response_id.clone_from(&end.captured_response_id);
        span.run(|| trace::record(used));
        span.end();
    }
}

impl std::fmt::Debug for ObservedStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ObservedStream")
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

impl Stream for ObservedStream {
    type Item = Result<ChatStreamEvent>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let stream = Pin::new(&mut this.stream);
        let item = ready!(match &this.span {
            Some(span) => span.run(|| stream.poll_next(context)),
            None => stream.poll_next(context),
        });
        match &item {
            Some(Ok(ChatStreamEvent::End(end))) => this.end(end),
            Some(Ok(_)) => {}
            Some(Err(error)) => {
                if let Some(span) = this.span.take() {
                    span.fail_with(&failure(error));
                }
            }
            None => {
                if let Some(span) = this.span.take() {
                    span.fail_with(&ToolError::transient("the answer broke off"));
                }
            }
        }
        Poll::Ready(item)
    }
}

/// Opens a span with the name of the model as the program wrote it.
fn open(model: &ModelSpec) -> SpanHandle {
    let name = match model {
        ModelSpec::Name(name) => name.to_string(),
        ModelSpec::Iden(model) => model.model_name.to_string(),
        ModelSpec::Target(target) => target.model.model_name.to_string(),
    };
    SpanHandle::open_if_wanted(SpanKind::Llm, name)
}

/// Returns the provider that bills requests to the URL of a model, if the program names a URL that a price table knows.
fn biller_of_target(model: &ModelSpec) -> Option<&'static str> {
    match model {
        ModelSpec::Target(target) => biller_of_url(target.endpoint.base_url()),
        ModelSpec::Name(_) | ModelSpec::Iden(_) => None,
    }
}

/// Returns the provider of a model, as price tables name it.
fn biller_of_model(model: &ModelIden) -> &'static str {
    match model.adapter_kind.as_lower_str() {
        "bedrock_api" | "bedrock_sigv4" => "aws",
        "bigmodel" => "zhipuai",
        "gemini" | "gemini_ix" | "vertex" => "google",
        "github_copilot" => "github-copilot",
        "kimi" | "moonshot" => "moonshotai",
        "open_router" => "openrouter",
        "openai_resp" => "openai",
        "xai" => "x-ai",
        name => name,
    }
}

fn usage_of_response(response: &ChatResponse) -> ModelUsage {
    let model = response.provider_model_iden.model_name.to_string();
    let mut used = ModelUsage::new(model, tokens(&response.usage));
    used.response_id.clone_from(&response.response_id);
    for call in response.tool_calls() {
        used = used.tool_call(call.call_id.clone(), call.fn_name.clone());
    }
    used
}

fn tokens(usage: &Usage) -> TokenUsage {
    let count = |tokens: Option<i32>| {
        tokens
            .and_then(|tokens| u64::try_from(tokens).ok())
            .unwrap_or_default()
    };
    let mut tokens = TokenUsage {
        input: count(usage.prompt_tokens),
        output: count(usage.completion_tokens),
        ..TokenUsage::default()
    };
    if let Some(details) = &usage.prompt_tokens_details {
        tokens.cached = count(details.cached_tokens);
        tokens.cache_written = count(details.cache_creation_tokens);
        tokens.input_audio = count(details.audio_tokens);
        let lasting = details.cache_creation_details.as_ref();
        tokens.cache_written_1h = lasting
            .map(|details| count(details.ephemeral_1h_tokens))
            .unwrap_or_default();
    }
    if let Some(details) = &usage.completion_tokens_details {
        tokens.reasoning = count(details.reasoning_tokens);
        tokens.output_audio = count(details.audio_tokens);
    }
    tokens
}

/// Describes an error without the request and the answer, which genai's own text may have.
fn failure(error: &Error) -> ToolError {
    match error {
        Error::HttpError { status, body, .. } => refused(status.as_u16(), body.as_bytes()),
        Error::WebModelCall { webc_error, .. } | Error::WebAdapterCall { webc_error, .. } => {
            web_failure(webc_error)
        }
        Error::WebStream { error, .. } => {
            let refusal = error.downcast_ref::<Error>();
            refusal.map_or_else(|| ToolError::transient("the answer broke off"), failure)
        }
        Error::ChatResponse { body, .. } => {
            let body = body.to_string();
            let message = tool_adapters_http::error_body::error_message(body.as_bytes());
            let message = tool_adapters_http::api_key::log_excerpt(&message, None);
            ToolError::transient(format!("the provider reported an error: {message}"))
        }
        Error::StreamParse { .. }
        | Error::ChatResponseGeneration { .. }
        | Error::NoChatResponse { .. }
        | Error::InvalidJsonResponseElement { .. } => {
            ToolError::transient("the answer could not be read")
        }
        Error::RequiresApiKey { .. } | Error::NoAuthResolver { .. } | Error::NoAuthData { .. } => {
            ToolError::auth("genai has no key for the model")
        }
        _ => ToolError::permanent("genai could not make the request"),
    }
}

fn web_failure(error: &webc::Error) -> ToolError {
    match error {
        webc::Error::ResponseFailedStatus { status, body, .. } => {
            refused(status.as_u16(), body.as_bytes())
        }
        webc::Error::Reqwest(_) => ToolError::transient("failed to reach the provider"),
        _ => ToolError::transient("the answer could not be read"),
    }
}
