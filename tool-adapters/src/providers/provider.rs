//! The providers, and the forms in which they take tools.

use std::fmt;
use std::str::FromStr;
use tool_core::tool::ProviderId;

/// A provider's interface: one form of declarations, one protocol.
///
/// ```
/// use tool_adapters::Provider;
///
/// assert_eq!("openai-responses".parse::<Provider>()?, Provider::OpenAiResponses);
/// assert_eq!(Provider::GeminiJsonSchema.name(), "gemini-json-schema");
/// # Ok::<(), tool_adapters::UnknownProvider>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Provider {
    /// `OpenAI`'s Chat Completions, and the many servers that answer as it does.
    OpenAiChat,
    /// `OpenAI`'s Responses.
    OpenAiResponses,
    /// `OpenAI`'s Realtime, over a WebSocket.
    OpenAiRealtime,
    /// Anthropic's Messages.
    Anthropic,
    /// Gemini's generateContent with `parameters`: a typed subset of `OpenAPI`'s schema.
    Gemini,
    /// Gemini's generateContent with `parametersJsonSchema`.
    GeminiJsonSchema,
    /// Gemini Live, over a WebSocket.
    GeminiLive,
    /// Bedrock's Converse.
    Bedrock,
    /// Mistral's chat.
    Mistral,
    /// Cohere's chat, version 2.
    Cohere,
    /// Ollama's chat.
    Ollama,
    /// The Model Context Protocol.
    Mcp,
}

impl Provider {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::OpenAiChat,
        Self::OpenAiResponses,
        Self::OpenAiRealtime,
        Self::Anthropic,
        Self::Gemini,
        Self::GeminiJsonSchema,
        Self::GeminiLive,
        Self::Bedrock,
        Self::Mistral,
        Self::Cohere,
        Self::Ollama,
        Self::Mcp,
    ];

    /// The name, as the command line takes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OpenAiChat => "openai-chat",
            Self::OpenAiResponses => "openai-responses",
            Self::OpenAiRealtime => "openai-realtime",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::GeminiJsonSchema => "gemini-json-schema",
            Self::GeminiLive => "gemini-live",
            Self::Bedrock => "bedrock",
            Self::Mistral => "mistral",
            Self::Cohere => "cohere",
            Self::Ollama => "ollama",
            Self::Mcp => "mcp",
        }
    }

    /// The id that [`ProviderTool::config`](tool_core::ProviderTool::config) is asked with: the name.
    pub const fn id(self) -> ProviderId {
        ProviderId::from_static(self.name())
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl serde::Serialize for Provider {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// A name that is no provider's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownProvider(String);

impl fmt::Display for UnknownProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Provider::ALL.map(Provider::name).join(", ");
        write!(f, "no provider is called `{}`; there are {names}", self.0.escape_debug())
    }
}

impl std::error::Error for UnknownProvider {}

impl FromStr for Provider {
    type Err = UnknownProvider;

    fn from_str(name: &str) -> Result<Self, UnknownProvider> {
        Self::ALL.into_iter().find(|provider| provider.name() == name).ok_or_else(|| UnknownProvider(name.to_owned()))
    }
}
