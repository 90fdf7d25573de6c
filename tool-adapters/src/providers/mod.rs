//! Providers.

pub mod anthropic;
pub(crate) mod bedrock;
pub(crate) mod blocks;
pub(crate) mod body;
pub(crate) mod calls;
pub(crate) mod codec;
pub(crate) mod cohere;
pub(crate) mod declaration;
pub(crate) mod declare;
pub(crate) mod event;
pub(crate) mod fields;
pub(crate) mod framing;
pub mod gemini;
pub(crate) mod gemini_live;
pub(crate) mod ids;
pub mod lint;
pub mod manifest;
pub(crate) mod mcp;
pub(crate) mod mistral;
pub(crate) mod mixing;
pub(crate) mod names;
pub(crate) mod ollama;
pub(crate) mod openai_chat;
pub(crate) mod openai_realtime;
pub mod openai_responses;
pub(crate) mod protocol;
pub(crate) mod provider;
pub mod provider_tools;
pub mod report;
pub(crate) mod schema;
pub(crate) mod spec;
pub(crate) mod strict;
pub(crate) mod table;
pub(crate) mod turns;
pub(crate) mod unescape;

#[cfg(test)]
mod tests;

pub use crate::providers::declare::{Declarations, DeclareOptions, declare, declare_tools, declare_with};
pub use crate::providers::event::{Event, Finish, ProtocolError, Request};
pub use crate::providers::lint::{LintReport, lint, lint_for};
pub use crate::providers::protocol::{Protocol, protocol};
pub use crate::providers::provider::{Provider, UnknownProvider};
pub use crate::providers::report::Report;
