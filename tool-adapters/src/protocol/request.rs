//! What a model is asked, before a provider's protocol writes it.

use crate::Declarations;
use serde_json::{Map, Value};
use tool_core::session::{Message, ToolChoice};

/// A request to a model.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The model's name at the provider.
    pub model: &'a str,
    /// The system instruction; empty for none.
    pub instructions: &'a str,
    /// The conversation, oldest first.
    pub history: &'a [Message],
    /// The tools.
    pub declarations: &'a Declarations,
    /// Whether to call them.
    pub tool_choice: ToolChoice,
    /// Whether the answer comes in pieces.
    pub stream: bool,
    /// The tokens that the answer may have; the protocol's own default where one has to be said.
    pub max_tokens: Option<u32>,
    /// Further settings in the provider's own words, laid over the body at its top level: what they say wins.
    pub extra: &'a Map<String, Value>,
}
