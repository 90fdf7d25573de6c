//! A request to a model, before a provider's protocol writes it.

use crate::providers::declarations::Declarations;
use serde_json::{Map, Value};
use tool_core::session::{Message, ToolChoice};

/// A request to a model.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The model's name at the provider.
    pub model: &'a str,
    /// The system instruction. Empty for none.
    pub instructions: &'a str,
    /// The conversation, oldest message first.
    pub history: &'a [Message],
    /// The tools.
    pub declarations: &'a Declarations,
    /// The rule by which the model calls tools.
    pub tool_choice: ToolChoice,
    /// True if the answer is streamed.
    pub stream: bool,
    /// The maximum number of tokens of the answer. Defaults to the protocol's own limit where the provider requires one.
    pub max_tokens: Option<u32>,
    /// Further settings in the provider's own form. They are laid over the body at its top level and take precedence.
    pub extra: &'a Map<String, Value>,
}
