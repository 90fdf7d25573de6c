//! The table of providers. A new provider is its folder, a variant of [`Provider`] and an arm here.

use crate::providers::provider::Provider;
use crate::providers::spec::ProviderSpec;
use crate::providers::{
    anthropic, bedrock, cohere, gemini, gemini_live, mcp, mistral, ollama, openai_chat, openai_realtime,
    openai_responses,
};

impl Provider {
    /// Returns the facts of the provider.
    pub(crate) const fn spec(self) -> &'static ProviderSpec {
        match self {
            Self::OpenAiChat => &openai_chat::SPEC,
            Self::OpenAiResponses => &openai_responses::SPEC,
            Self::OpenAiRealtime => &openai_realtime::SPEC,
            Self::Anthropic => &anthropic::SPEC,
            Self::Gemini => &gemini::SPEC,
            Self::GeminiJsonSchema => &gemini::JSON_SCHEMA_SPEC,
            Self::GeminiLive => &gemini_live::SPEC,
            Self::Bedrock => &bedrock::SPEC,
            Self::Mistral => &mistral::SPEC,
            Self::Cohere => &cohere::SPEC,
            Self::Ollama => &ollama::SPEC,
            Self::Mcp => &mcp::SPEC,
        }
    }
}
