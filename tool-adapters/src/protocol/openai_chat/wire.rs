//! What an answer and its chunks look like.

use super::usage::Usage;
use crate::protocol::fields::{Count, Json, Object, Objects, Text};
use serde::Deserialize;

/// A whole answer, or a chunk of one.
#[derive(Debug, Deserialize)]
pub(super) struct Answer<'a> {
    #[serde(borrow, default)]
    pub(super) id: Text<'a>,
    #[serde(borrow, default)]
    pub(super) model: Text<'a>,
    #[serde(borrow)]
    pub(super) choices: Option<Objects<Choice<'a>>>,
    #[serde(default)]
    pub(super) usage: Object<Usage>,
    #[serde(default)]
    pub(super) error: Json<'a>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Choice<'a> {
    #[serde(default)]
    pub(super) index: Count,
    /// Of a chunk.
    #[serde(borrow, default)]
    pub(super) delta: Object<Message<'a>>,
    /// Of a whole answer.
    #[serde(borrow, default)]
    pub(super) message: Object<Message<'a>>,
    #[serde(borrow, default)]
    pub(super) finish_reason: Text<'a>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Message<'a> {
    /// A text, or parts.
    #[serde(borrow, default)]
    pub(super) content: Json<'a>,
    #[serde(borrow, default)]
    pub(super) refusal: Text<'a>,
    /// What some servers call it.
    #[serde(borrow, default)]
    pub(super) reasoning_content: Text<'a>,
    /// What others call it.
    #[serde(borrow, default)]
    pub(super) reasoning: Text<'a>,
    #[serde(borrow, default)]
    pub(super) audio: Object<Audio<'a>>,
    #[serde(borrow, default)]
    pub(super) tool_calls: Objects<Entry<'a>>,
    /// The only call, in the form that came before `tool_calls`.
    #[serde(borrow, default)]
    pub(super) function_call: Object<Function<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Audio<'a> {
    #[serde(borrow, default)]
    pub(super) transcript: Text<'a>,
}

/// A part of the content.
#[derive(Debug, Deserialize)]
pub(super) struct Part<'a> {
    #[serde(borrow, default)]
    pub(super) text: Text<'a>,
    /// A text, or parts: what Mistral's models think.
    #[serde(borrow, default)]
    pub(super) thinking: Json<'a>,
}

/// A call, or a piece of one. Cohere's and Ollama's are read here too.
#[derive(Debug, Default, Deserialize)]
pub(in crate::protocol) struct Entry<'a> {
    pub(super) index: Option<Count>,
    #[serde(borrow, default)]
    pub(in crate::protocol) id: Text<'a>,
    #[serde(borrow, default)]
    pub(in crate::protocol) function: Object<Function<'a>>,
    /// Of a custom tool, whose input is free text.
    #[serde(borrow, default)]
    pub(super) custom: Object<Function<'a>>,
}

#[derive(Debug, Deserialize)]
pub(in crate::protocol) struct Function<'a> {
    #[serde(borrow, default)]
    pub(in crate::protocol) name: Text<'a>,
    /// A text; from some servers an object.
    #[serde(borrow, default)]
    pub(in crate::protocol) arguments: Json<'a>,
    /// Of a custom tool.
    #[serde(borrow, default)]
    pub(super) input: Json<'a>,
}
