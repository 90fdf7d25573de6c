//! The settings of a live model.

use crate::model_access::ProviderModel;
use std::borrow::Cow;
use std::time::Duration;
use tool_adapters_providers::spec::{Endpoint, LiveEndpoint};
use tool_adapters_providers::{Host, Provider, RefusedParts};
use tool_core::session::UserMessage;

/// A live model of a provider. See the [module](super).
///
/// ```
/// use std::time::Duration;
/// use tool_adapters::Provider;
/// use tool_adapters::transport::websocket::LiveModel;
/// use tool_core::serde_json::json;
///
/// let model = LiveModel::new(Provider::OpenAiRealtime, "gpt-realtime") // OPENAI_API_KEY
///     .instructions("You answer the phone of a hotel. One sentence at a time.")
///     .setting("audio", json!({"output": {"voice": "marin"}})) // any member of the provider's setup
///     .enter() // the model speaks first
///     .heartbeat(Duration::from_secs(10));
/// ```
pub type LiveModel = ProviderModel<LiveTransport>;

/// The settings of a [`LiveModel`] that a model over HTTP does not have.
pub struct LiveTransport {
    /// The name of the agent.
    pub(crate) name: Option<Cow<'static, str>>,
    pub(crate) audio_type: String,
    pub(crate) connect_timeout: Duration,
    pub(crate) heartbeat: Duration,
    pub(crate) max_message: usize,
    /// The host's instructions.
    pub(crate) instructions: String,
    pub(crate) enters: bool,
    pub(crate) transcripts: bool,
    pub(crate) background_tools: bool,
    pub(crate) event_bytes: usize,
}

/// Returns the WebSocket API of a provider.
pub(crate) fn live_api(provider: Provider) -> Option<LiveEndpoint> {
    match provider.spec().endpoint {
        Endpoint::WebSocket(live) => Some(live),
        _ => None,
    }
}

impl ProviderModel<LiveTransport> {
    /// Creates a model of `OpenAiRealtime` or `GeminiLive` by its name at the provider.
    ///
    /// The base URL defaults to `wss://api.openai.com/v1` (`OPENAI_BASE_URL`, `OPENAI_API_KEY`) or
    /// `wss://generativelanguage.googleapis.com` (`GOOGLE_GEMINI_BASE_URL`; `GOOGLE_API_KEY`,
    /// `GEMINI_API_KEY`). A key of the environment is not sent to a base URL that the program sets.
    pub fn new(provider: Provider, model: impl Into<String>) -> Self {
        let rate = live_api(provider).map_or(16_000, |live| live.audio_rate);
        let transport = LiveTransport {
            name: None,
            audio_type: format!("audio/pcm;rate={rate}"),
            connect_timeout: Duration::from_secs(10),
            heartbeat: Duration::from_secs(20),
            max_message: 16 * 1024 * 1024,
            instructions: String::new(),
            enters: false,
            transcripts: true,
            background_tools: false,
            event_bytes: 4 * 1024 * 1024,
        };
        Self::over(transport, provider, model.into())
    }

    /// Checks that the provider takes every part of a message, as [`LiveInput::message`](super::LiveInput::message) does.
    ///
    /// # Errors
    ///
    /// The provider does not take a part. The error names every such part, and says what to do.
    pub fn check_message(&self, message: &UserMessage) -> Result<(), RefusedParts> {
        self.host().check_message(message)
    }

    /// Returns the server, with the settings of the program.
    pub(crate) fn host(&self) -> Host {
        let live = live_api(self.provider);
        let base_url = live.map(|live| self.access.base_url(&live.server));
        self.with_accepted(Host::at(self.provider, &base_url.unwrap_or_default()))
    }

    /// Sets the name of the agent in spans and totals. Defaults to `agent`. An agent with a name
    /// always has spans.
    pub fn named(self, name: impl Into<Cow<'static, str>>) -> Self {
        Self {
            transport: LiveTransport {
                name: Some(name.into()),
                ..self.transport
            },
            ..self
        }
    }

    /// Sets the instructions for the model. They precede the guides of the tools, and follow
    /// instructions among the
    /// [settings](Self::setting).
    pub fn instructions(self, text: impl Into<String>) -> Self {
        Self {
            transport: LiveTransport {
                instructions: text.into(),
                ..self.transport
            },
            ..self
        }
    }

    /// Lets the model begin the conversation. Tools with `ignore_on_enter` are hidden from it until
    /// its first reply has ended.
    pub fn enter(self) -> Self {
        Self {
            transport: LiveTransport {
                enters: true,
                ..self.transport
            },
            ..self
        }
    }

    /// Sets whether the provider transcribes the speech of both sides, for [`LiveEvent::Heard`](super::LiveEvent::Heard) and
    /// the [history](super::LiveLoop::history). Defaults to true. OpenAI transcribes with `gpt-4o-mini-transcribe`, unless a
    /// [setting](Self::setting) `audio` names another model, and bills that model.
    pub fn transcripts(self, yes: bool) -> Self {
        Self {
            transport: LiveTransport {
                transcripts: yes,
                ..self.transport
            },
            ..self
        }
    }

    /// Declares the tools so that the model goes on while they run, and is silent after
    /// [`ToolOutput::stop`](tool_core::ToolOutput::stop). For models of Gemini Live that take `NON_BLOCKING` functions;
    /// other models refuse them. Without it, what Gemini says after a stop is withheld from the
    /// host.
    pub fn background_tools(self) -> Self {
        Self {
            transport: LiveTransport {
                background_tools: true,
                ..self.transport
            },
            ..self
        }
    }

    /// Sets how many bytes of events may wait for the host. Defaults to 4 MiB, about a minute of
    /// audio. While the host is behind by so much, the socket is not read, and calls wait in it.
    pub fn event_bytes(self, bytes: usize) -> Self {
        Self {
            transport: LiveTransport {
                event_bytes: bytes,
                ..self.transport
            },
            ..self
        }
    }

    /// Sets the MIME type of the host's audio. Defaults to `audio/pcm` with the provider's rate.
    /// OpenAI ignores it and uses the format of its session settings, which defaults to 24 kHz.
    pub fn audio_type(self, mime_type: impl Into<String>) -> Self {
        Self {
            transport: LiveTransport {
                audio_type: mime_type.into(),
                ..self.transport
            },
            ..self
        }
    }

    /// Sets the time limit for connecting and for the setup. Defaults to 10 s.
    pub fn connect_timeout(self, time: Duration) -> Self {
        Self {
            transport: LiveTransport {
                connect_timeout: time,
                ..self.transport
            },
            ..self
        }
    }

    /// Sets the interval of pings while the provider is silent. Defaults to 20 s. After two
    /// intervals without data the connection counts as broken.
    pub fn heartbeat(self, time: Duration) -> Self {
        Self {
            transport: LiveTransport {
                heartbeat: time,
                ..self.transport
            },
            ..self
        }
    }

    /// Sets the maximum size of a message from the provider in bytes. Defaults to 16 MiB.
    pub fn max_message(self, bytes: usize) -> Self {
        Self {
            transport: LiveTransport {
                max_message: bytes,
                ..self.transport
            },
            ..self
        }
    }
}
