//! Models over HTTP: server-sent events, lines of JSON, whole answers.
//!
//! ```no_run
//! use tool_adapters::Provider;
//! use tool_adapters::agent::AgentLoop;
//! use tool_adapters::transport::http::HttpModel;
//!
//! # async fn talk(session: tool_core::Session, key: &str, other_key: &str) {
//! let mut agent = AgentLoop::new(session, HttpModel::new(Provider::OpenAiChat, "gpt-5").api_key(key));
//! let reply = agent.say("What is on my calendar?").await;
//!
//! // Another provider is one line; the history goes on.
//! agent.set_model(HttpModel::new(Provider::Anthropic, "claude-sonnet-5").api_key(other_key));
//! let reply = agent.say("And tomorrow?").await;
//! # }
//! ```
//!
//! # Providers
//!
//! | provider | base URL, and the setting that changes it | path | key |
//! |---|---|---|---|
//! | `OpenAiChat` | `https://api.openai.com/v1`, `OPENAI_BASE_URL` | `/chat/completions` | bearer, `OPENAI_API_KEY` |
//! | `OpenAiResponses` | the same | `/responses` | the same |
//! | `Anthropic` | `https://api.anthropic.com`, `ANTHROPIC_BASE_URL` | `/v1/messages` | `x-api-key`, `ANTHROPIC_API_KEY` |
//! | `Gemini`, `GeminiJsonSchema` | `https://generativelanguage.googleapis.com`, `GOOGLE_GEMINI_BASE_URL` | `/v1beta/models/MODEL:streamGenerateContent` | `x-goog-api-key`, `GOOGLE_API_KEY`, `GEMINI_API_KEY` |
//! | `Mistral` | `https://api.mistral.ai`, `MISTRAL_BASE_URL` | `/v1/chat/completions` | bearer, `MISTRAL_API_KEY` |
//! | `Cohere` | `https://api.cohere.com`, `CO_API_URL` | `/v2/chat` | bearer, `CO_API_KEY` |
//! | `Ollama` | `http://127.0.0.1:11434`, `OLLAMA_HOST` | `/api/chat` | none, or bearer, `OLLAMA_API_KEY` |
//! | `Bedrock` | `https://bedrock-runtime.REGION.amazonaws.com` by `AWS_REGION`, `AWS_ENDPOINT_URL_BEDROCK_RUNTIME` | `/model/MODEL/converse` | bearer, `AWS_BEARER_TOKEN_BEDROCK` |
//!
//! A base URL or a key that the program sets goes before the environment, and a key of the environment goes to no server
//! that the program names. A server that speaks like OpenAI is `OpenAiChat` with a base URL.
//!
//! Bedrock: an API key, and whole answers. Requests signed with AWS credentials (`SigV4`) and its binary event stream are
//! not supported. OpenAI Realtime and Gemini Live are spoken over a WebSocket: see the feature `websocket`.
//!
//! # When something goes wrong
//!
//! An error is one of AUTH (401, 403), `RATE_LIMIT` (429), TRANSIENT or PERMANENT, with what the provider says. It never
//! has the key. A redirect is an error: the key would go along.
//!
//! What could not be reached, 408, 409, 429, 5xx and a stream that broke off are asked again, by [`Retry`] and by what
//! the provider says in `Retry-After`. A call only runs once its answer has ended, so asking again runs nothing twice.
//! Of an answer that breaks off in the middle,
//!
//! - the calls that were whole run, and what was cut off is left out: the model sees their results and goes on;
//! - where there was none, it is asked for again, as long as [`on_event`](HttpModel::on_event) has shown none of it;
//! - else the reply ends with the error.
//!
//! Dropping the future of a step closes the connection.
//!
//! # Spans
//!
//! Each attempt is an `http` span, where tools have spans: inside of another, or once the process collects
//! ([`start`](tool_core::trace::start)). What its answer says was used counts for the span around it, once: the loop,
//! which has a span for the question, tells it; where a step is asked for by itself, or an answer breaks off, it is what
//! was seen.

pub(crate) mod collect;
pub(crate) mod endpoint;
pub(crate) mod exchange;
pub(crate) mod failure;

use crate::agent::about;
use crate::providers::declare::{Declarations, DeclareOptions, declare_tools};
use crate::providers::event::{Event, Request};
use crate::providers::protocol::{Protocol, protocol};
use crate::providers::provider::Provider;
use crate::providers::spec::{Endpoint, HttpEndpoint};
use crate::transport::api_key::ApiKey;
use crate::transport::http::endpoint::Place;
use crate::transport::retry::RetryPolicy;
use serde_json::{Map, Value};
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tool_core::session::{Model, ModelInfo, ModelRequest, ModelStep};
use tool_core::{ProviderTool, ToolError};

/// What is shown the pieces of an answer.
type Listener = Box<dyn FnMut(&Event) + Send>;

/// A model at a provider, over HTTP: see the [module](self).
pub struct HttpModel {
    provider: Provider,
    model: String,
    place: Place,
    settings: Settings,
    client: Option<reqwest::Client>,
    /// Where the last answer ended well: it knows the ids of the conversation.
    protocol: Option<Box<dyn Protocol>>,
    declared: Option<Declared>,
    /// What price tables know of it, once somebody has asked.
    about: OnceLock<ModelInfo>,
    listener: Option<Listener>,
}

struct Settings {
    declare: DeclareOptions,
    max_tokens: Option<u32>,
    extra: Map<String, Value>,
    stream: bool,
    retry: RetryPolicy,
    timeouts: Timeouts,
    max_bytes: usize,
}

/// How long a provider may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// To take the connection: 10 s.
    pub connect: Duration,
    /// To send anything, at the beginning and between two pieces: 5 min, as a model may think in silence.
    pub idle: Duration,
    /// For a step with all its attempts: 15 min.
    pub total: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        let (connect, idle, total) = (Duration::from_secs(10), Duration::from_mins(5), Duration::from_mins(15));
        Self { connect, idle, total }
    }
}

/// Tools that were declared.
struct Declared {
    declarations: Declarations,
    provider_tools: Vec<Arc<dyn ProviderTool>>,
}

impl HttpModel {
    /// Whether answers come in pieces: not where the provider streams in a form that is not supported.
    fn streams(&self) -> bool {
        let spec = self.provider.spec();
        self.settings.stream && !matches!(spec.endpoint, Endpoint::Http(HttpEndpoint { streams: false, .. }))
    }

    /// The tools in the provider's form: made when they change.
    fn declare(&mut self, request: &ModelRequest<'_>) -> Declarations {
        let same = |declared: &&Declared| {
            let tools = declared.provider_tools.iter().zip(request.provider_tools);
            declared.declarations.of_same_tools(request.tools)
                && declared.provider_tools.len() == request.provider_tools.len()
                && tools.into_iter().all(|(ours, theirs)| Arc::ptr_eq(ours, theirs))
        };
        if let Some(declared) = self.declared.as_ref().filter(same) {
            return declared.declarations.clone();
        }
        let declarations = declare_tools(self.provider, request.tools, request.provider_tools, self.settings.declare);
        for warning in &declarations.report().warnings {
            tracing::warn!(provider = %self.provider, "{warning}");
        }
        let provider_tools = request.provider_tools.to_vec();
        self.declared.insert(Declared { declarations, provider_tools }).declarations.clone()
    }
}

impl Model for HttpModel {
    async fn step(&mut self, request: ModelRequest<'_>) -> Result<ModelStep, ToolError> {
        let declarations = self.declare(&request);
        let stream = self.streams();
        let body = self.protocol.get_or_insert_with(|| protocol(self.provider)).request(&Request {
            model: &self.model,
            instructions: request.instructions,
            history: request.history,
            declarations: &declarations,
            tool_choice: request.tool_choice,
            stream,
            max_tokens: self.settings.max_tokens,
            extra: &self.settings.extra,
        });
        self.ask(body.to_string(), &declarations).await
    }

    fn about(&self) -> ModelInfo {
        self.about.get_or_init(|| about(self.provider, &self.model, &self.place.base(self.provider))).clone()
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

// ---- Setting a model up.

/// What an [`HttpModel`]'s own client is made with: no redirect is followed, as keys would go along.
///
/// For a client that several models share, or that has a proxy or certificates of its own.
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

impl HttpModel {
    /// A model at a provider, by the name that it has there.
    pub fn new(provider: Provider, model: impl Into<String>) -> Self {
        Self {
            provider,
            model: model.into(),
            place: Place::default(),
            settings: Settings {
                declare: DeclareOptions::default(),
                max_tokens: None,
                extra: Map::new(),
                stream: true,
                retry: RetryPolicy::default(),
                timeouts: Timeouts::default(),
                max_bytes: 64 * 1024 * 1024,
            },
            client: None,
            protocol: None,
            declared: None,
            about: OnceLock::new(),
            listener: None,
        }
    }

    /// The key. Nothing shows it.
    #[must_use]
    pub fn api_key(mut self, key: impl AsRef<str>) -> Self {
        self.place.api_key = Some(ApiKey::new(key.as_ref()));
        self
    }

    /// Another address than the provider's own, up to where its paths begin. A query that it has stays.
    #[must_use]
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.place.base_url = Some(url.into());
        // Another place is somebody else's.
        self.about = OnceLock::new();
        self
    }

    /// A header for every request, such as a project's or a beta's; instead of ours, where it is one of those.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.place.headers.push((name.into(), value.into()));
        self
    }

    /// How the tools are declared.
    #[must_use]
    pub fn declare_options(mut self, options: DeclareOptions) -> Self {
        (self.settings.declare, self.declared) = (options, None);
        self
    }

    /// The tokens that an answer may have.
    #[must_use]
    pub fn max_tokens(mut self, tokens: u32) -> Self {
        self.settings.max_tokens = Some(tokens);
        self
    }

    /// A setting in the provider's own words, at the top of the request's body, such as `temperature`.
    #[must_use]
    pub fn setting(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.settings.extra.insert(name.into(), value.into());
        self
    }

    /// Whether answers come in pieces. They do unless told; Bedrock's never do.
    #[must_use]
    pub fn stream(mut self, stream: bool) -> Self {
        self.settings.stream = stream;
        self
    }

    /// How often it is asked again.
    #[must_use]
    pub fn retry(mut self, retry: RetryPolicy) -> Self {
        self.settings.retry = retry;
        self
    }

    /// How long it may take. The time to connect does not hold for a [`client`](Self::client) of your own.
    #[must_use]
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.settings.timeouts = timeouts;
        self
    }

    /// The bytes that an answer may have: 64 MiB unless told.
    #[must_use]
    pub fn max_bytes(mut self, bytes: usize) -> Self {
        self.settings.max_bytes = bytes;
        self
    }

    /// The client to ask with. Best one of [`client_builder`]: one that follows redirects takes the key along.
    #[must_use]
    pub fn client(mut self, client: reqwest::Client) -> Self {
        self.client = Some(client);
        self
    }

    /// Shows the pieces of answers as they come: on the task of the reply, so it has to be quick. Calls are shown under
    /// the tools' own names; they run when the answer is whole.
    #[must_use]
    pub fn on_event(mut self, listener: impl FnMut(&Event) + Send + 'static) -> Self {
        self.listener = Some(Box::new(listener));
        self
    }
}
