//! Providers: declarations of tools in a provider's form, and protocols that read and write its
//! messages.
//!
//! Each provider has a folder, whose `SPEC` has its facts: its names, the schemas that it accepts, the way it writes a tool,
//! its reader and its endpoints. The shared code asks the spec of a [`Provider`] and names no provider. The list at the end
//! of this file has all of them.
//!
//! - [`declare`](fn@declare): tools in a provider's form, with a [`Report`] on what the form cannot
//!   express
//! - [`protocol`]: a provider's bytes as [`Event`]s, and requests and results in the provider's
//!   form
//! - [`lint`](fn@lint): the findings for all providers at once
//! - [`manifest`]: the manifest with the declarations of each provider
//! - [`provider_tools`]: tools that providers run themselves

pub(crate) mod accepted_parts;
pub(crate) mod answer_gate;
pub(crate) mod answer_sources;
pub mod anthropic;
pub(crate) mod bedrock;
pub(crate) mod chat_steps;
pub(crate) mod codec;
pub(crate) mod cohere;
pub(crate) mod content_blocks;
pub mod declarations;
pub mod declare;
pub(crate) mod declared_tool;
pub mod event;
pub mod framing;
pub mod gemini;
pub(crate) mod gemini_live;
pub mod half_characters;
pub mod hosted;
pub(crate) mod hosts;
pub(crate) mod json_reader;
pub(crate) mod lenient;
pub mod lint;
pub(crate) mod llama_cpp;
pub(crate) mod lm_studio;
pub mod manifest;
pub mod mcp;
pub(crate) mod message_members;
pub(crate) mod message_parts;
pub(crate) mod mistral;
pub(crate) mod ollama;
pub(crate) mod openai_chat;
pub(crate) mod openai_realtime;
pub mod openai_responses;
pub(crate) mod part_form;
pub(crate) mod partial_calls;
pub(crate) mod projection;
pub(crate) mod prompt_cache;
pub(crate) mod protocol;
pub mod provider;
pub mod provider_tools;
pub(crate) mod repeats;
pub mod report;
pub mod request;
pub(crate) mod result_files;
pub mod retry_delay;
pub(crate) mod same_json;
pub mod schema;
pub(crate) mod setting_places;
pub(crate) mod settings;
pub mod spec;
pub(crate) mod step_model;
pub(crate) mod strict;
pub(crate) mod structured;
pub mod token_counter;
pub mod tool_names;
pub mod turns;
pub(crate) mod vllm;

#[cfg(test)]
mod tests;

pub use crate::accepted_parts::{AcceptedMedia, AcceptedParts, PartKind};
pub use crate::declarations::{Declarations, DeclareOptions};
pub use crate::declare::{declare, declare_searchable, declare_tools, declare_with};
pub use crate::event::{Event, Finish, JsonError, ProtocolError};
pub use crate::framing::framer::Framing;
pub use crate::hosts::{Host, ReasoningBack, TokenLimit};
pub use crate::lint::{LintReport, lint, lint_for};
pub use crate::message_parts::{
    PartProblem, PartRefusal, RefusedParts, unread_message, without_files,
};
pub use crate::openai_chat::chat_hosts::ChatHost;
pub use crate::prompt_cache::cache_prompt;
pub use crate::protocol::{Protocol, protocol};
pub use crate::provider::UnknownProvider;
pub use crate::report::Report;
pub use crate::request::Request;
pub use crate::setting_places::ReasoningEffort;
pub use crate::settings::{ModelSettings, SettingsError};
pub use crate::structured::StructuredOutput;
pub use crate::token_counter::estimate_tokens;

provider::providers! {
    /// OpenAI's Chat Completions, and the many servers with the same API.
    OpenAiChat = openai_chat::SPEC,
    /// OpenAI's Responses.
    OpenAiResponses = openai_responses::SPEC,
    /// OpenAI's Realtime, over a WebSocket.
    OpenAiRealtime = openai_realtime::SPEC,
    /// Anthropic's Messages.
    Anthropic = anthropic::SPEC,
    /// Gemini's generateContent with `parameters`, a typed subset of `OpenAPI`'s schema.
    Gemini = gemini::SPEC,
    /// Gemini's generateContent with `parametersJsonSchema`.
    GeminiJsonSchema = gemini::JSON_SCHEMA_SPEC,
    /// Gemini Live, over a WebSocket.
    GeminiLive = gemini_live::SPEC,
    /// Bedrock's Converse.
    Bedrock = bedrock::SPEC,
    /// Mistral's chat.
    Mistral = mistral::SPEC,
    /// Cohere's chat, version 2.
    Cohere = cohere::SPEC,
    /// Ollama's chat.
    Ollama = ollama::SPEC,
    /// llama.cpp's server, with the schemas that its grammars take.
    LlamaCpp = llama_cpp::SPEC,
    /// vLLM's server, and SGLang's, with the schemas that their grammars take.
    Vllm = vllm::SPEC,
    /// LM Studio's server, with the schemas that it takes.
    LmStudio = lm_studio::SPEC,
    /// The Model Context Protocol.
    Mcp = mcp::SPEC,
}
