//! Setting a live model up.

use crate::agent::{ApiKey, Retry};
use crate::{DeclareOptions, Provider};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::fmt;
use std::time::Duration;
use tokio::sync::mpsc;
use tool_core::ToolResponse;

/// A live model at a provider: see the [module](super).
pub struct LiveModel {
    pub(super) provider: Provider,
    pub(super) model: String,
    /// What the host calls the agent.
    pub(super) name: Option<Cow<'static, str>>,
    pub(super) base_url: Option<String>,
    pub(super) api_key: Option<ApiKey>,
    pub(super) headers: Vec<(String, String)>,
    pub(super) declare: DeclareOptions,
    pub(super) extra: Map<String, Value>,
    pub(super) audio_type: String,
    pub(super) retry: Retry,
    pub(super) connect_timeout: Duration,
    pub(super) heartbeat: Duration,
    pub(super) max_message: usize,
    pub(super) updates: Option<Updates>,
}

/// Word of tools that take long, on its way to a live conversation.
#[derive(Debug)]
pub struct Updates(pub(super) mpsc::UnboundedReceiver<ToolResponse>);

/// What a session's [`on_update`](tool_core::session::SessionBuilder::on_update) is given, and what goes to
/// [`LiveModel::updates`].
pub fn updates() -> (impl Fn(ToolResponse) + Send + Sync + 'static, Updates) {
    // As many as tools tell: a session's calls, and what they say, are bounded there.
    let (sender, receiver) = mpsc::unbounded_channel();
    let shown = move |response| {
        // Nobody is told once the conversation is over.
        let _ = sender.send(response);
    };
    (shown, Updates(receiver))
}

impl LiveModel {
    /// A model at a provider, by the name that it has there: `OpenAiRealtime` or `GeminiLive`.
    ///
    /// It is reached at `wss://api.openai.com/v1` (`OPENAI_BASE_URL`, `OPENAI_API_KEY`) or
    /// `wss://generativelanguage.googleapis.com` (`GOOGLE_GEMINI_BASE_URL`; `GOOGLE_API_KEY`, `GEMINI_API_KEY`), unless
    /// told otherwise. A key of the environment goes to no server that the program names.
    pub fn new(provider: Provider, model: impl Into<String>) -> Self {
        let rate = if provider == Provider::OpenAiRealtime { 24_000 } else { 16_000 };
        Self {
            provider,
            model: model.into(),
            name: None,
            base_url: None,
            api_key: None,
            headers: Vec::new(),
            declare: DeclareOptions::default(),
            extra: Map::new(),
            audio_type: format!("audio/pcm;rate={rate}"),
            retry: Retry::default(),
            connect_timeout: Duration::from_secs(10),
            heartbeat: Duration::from_secs(20),
            max_message: 16 * 1024 * 1024,
            updates: None,
        }
    }

    /// What the agent is called that speaks by it, in spans and sums; `agent` unless told. One with a name always
    /// has spans.
    #[must_use]
    pub fn named(mut self, name: impl Into<Cow<'static, str>>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// The key. Nothing shows it.
    #[must_use]
    pub fn api_key(mut self, key: impl AsRef<str>) -> Self {
        self.api_key = Some(ApiKey::new(key.as_ref()));
        self
    }

    /// Another address than the provider's own, up to where its paths begin: `ws`, `wss`, `http` or `https`.
    #[must_use]
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = Some(url.into());
        self
    }

    /// A header for the handshake.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// How the tools are declared.
    #[must_use]
    pub fn declare_options(mut self, options: DeclareOptions) -> Self {
        self.declare = options;
        self
    }

    /// A setting of the session in the provider's own words, such as Gemini's `generationConfig`.
    #[must_use]
    pub fn setting(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.extra.insert(name.into(), value.into());
        self
    }

    /// What the sound is that the host sends, for providers that want to be told: `audio/pcm;rate=16000` unless told.
    /// OpenAI takes what its session says, which is 24 kHz unless told.
    #[must_use]
    pub fn audio_type(mut self, mime_type: impl Into<String>) -> Self {
        self.audio_type = mime_type.into();
        self
    }

    /// How often a connection that was lost is opened again. The count begins anew once one has held.
    #[must_use]
    pub fn retry(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }

    /// How long the provider may take until the conversation can begin: 10 s unless told.
    #[must_use]
    pub fn connect_timeout(mut self, time: Duration) -> Self {
        self.connect_timeout = time;
        self
    }

    /// How often it is asked for a sign of life, at most: 20 s unless told. After twice that the connection is lost.
    #[must_use]
    pub fn heartbeat(mut self, time: Duration) -> Self {
        self.heartbeat = time;
        self
    }

    /// The bytes that a message of the provider's may have: 16 MiB unless told.
    #[must_use]
    pub fn max_message(mut self, bytes: usize) -> Self {
        self.max_message = bytes;
        self
    }

    /// Takes the updates of tools that take long: see [`updates`].
    #[must_use]
    pub fn updates(mut self, updates: Updates) -> Self {
        self.updates = Some(updates);
        self
    }
}

impl fmt::Debug for LiveModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveModel")
            .field("provider", &self.provider)
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}
