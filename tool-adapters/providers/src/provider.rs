//! The providers and their names.

use serde::Serialize;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;
use tool_core::tool::ProviderId;

/// Declares the providers with their names.
macro_rules! providers {
    ($($(#[$doc:meta])* $provider:ident = $name:literal,)+) => {
        /// The interface of a model provider: one form of declarations and one protocol.
        ///
        /// ```
        /// use tool_adapters::Provider;
        ///
        /// assert_eq!("openai-responses".parse::<Provider>()?, Provider::OpenAiResponses);
        /// assert_eq!(Provider::GeminiJsonSchema.name(), "gemini-json-schema");
        /// # Ok::<(), tool_adapters::UnknownProvider>(())
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
        #[non_exhaustive]
        pub enum Provider {
            $(
                $(#[$doc])*
                #[serde(rename = $name)]
                $provider,
            )+
        }

        impl Provider {
            /// All providers.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$provider),+];

            /// Returns the name, as the command line has it.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$provider => $name,)+
                }
            }
        }
    };
}

providers! {
    /// OpenAI's Chat Completions, and the many servers with the same API.
    OpenAiChat = "openai-chat",
    /// OpenAI's Responses.
    OpenAiResponses = "openai-responses",
    /// OpenAI's Realtime, over a WebSocket.
    OpenAiRealtime = "openai-realtime",
    /// Anthropic's Messages.
    Anthropic = "anthropic",
    /// Gemini's generateContent with `parameters`, a typed subset of `OpenAPI`'s schema.
    Gemini = "gemini",
    /// Gemini's generateContent with `parametersJsonSchema`.
    GeminiJsonSchema = "gemini-json-schema",
    /// Gemini Live, over a WebSocket.
    GeminiLive = "gemini-live",
    /// Bedrock's Converse.
    Bedrock = "bedrock",
    /// Mistral's chat.
    Mistral = "mistral",
    /// Cohere's chat, version 2.
    Cohere = "cohere",
    /// Ollama's chat.
    Ollama = "ollama",
    /// llama.cpp's server, with the schemas that its grammars take.
    LlamaCpp = "llama-cpp",
    /// vLLM's server, and SGLang's, with the schemas that their grammars take.
    Vllm = "vllm",
    /// LM Studio's server, with the schemas that it takes.
    LmStudio = "lm-studio",
    /// The Model Context Protocol.
    Mcp = "mcp",
}

impl Provider {
    /// Returns the id for [`ProviderTool::config`](tool_core::ProviderTool::config), which is the name.
    pub const fn id(self) -> ProviderId {
        ProviderId::from_static(self.name())
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The error of a name that no provider has.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("unknown provider `{}`; expected one of {}", .0.escape_debug(), Provider::ALL.map(Provider::name).join(", "))]
pub struct UnknownProvider(String);

impl FromStr for Provider {
    type Err = UnknownProvider;

    fn from_str(name: &str) -> Result<Self, UnknownProvider> {
        Self::ALL
            .into_iter()
            .find(|provider| provider.name() == name)
            .ok_or_else(|| UnknownProvider(name.to_owned()))
    }
}
