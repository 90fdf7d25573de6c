//! What an answer and its chunks look like.

use crate::protocol::fields::{Count, Json, Object, Objects, Text};
use serde::Deserialize;

/// A whole answer, or a chunk of one.
#[derive(Debug, Deserialize)]
pub(super) struct Answer<'a> {
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

/// A call, or a piece of one.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Entry<'a> {
    pub(super) index: Option<Count>,
    #[serde(borrow, default)]
    pub(super) id: Text<'a>,
    #[serde(borrow, default)]
    pub(super) function: Object<Function<'a>>,
    /// Of a custom tool, whose input is free text.
    #[serde(borrow, default)]
    pub(super) custom: Object<Function<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Function<'a> {
    #[serde(borrow, default)]
    pub(super) name: Text<'a>,
    /// A text; from some servers an object.
    #[serde(borrow, default)]
    pub(super) arguments: Json<'a>,
    /// Of a custom tool.
    #[serde(borrow, default)]
    pub(super) input: Json<'a>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Usage {
    #[serde(default)]
    prompt_tokens: Count,
    #[serde(default)]
    completion_tokens: Count,
    #[serde(default)]
    prompt_tokens_details: Object<Details>,
    #[serde(default)]
    completion_tokens_details: Object<Details>,
    /// What some servers call the cached ones.
    #[serde(default)]
    prompt_cache_hit_tokens: Count,
    /// What Mistral calls them.
    #[serde(default)]
    num_cached_tokens: Count,
}

#[derive(Debug, Deserialize)]
struct Details {
    #[serde(default)]
    cached_tokens: Count,
    #[serde(default)]
    reasoning_tokens: Count,
}

impl Usage {
    pub(super) fn usage(&self) -> tool_core::runtime::Usage {
        let cached = self.prompt_tokens_details.as_ref().map_or(0, |details| details.cached_tokens.0);
        tool_core::runtime::Usage {
            input: self.prompt_tokens.0,
            cached: cached.max(self.prompt_cache_hit_tokens.0).max(self.num_cached_tokens.0),
            output: self.completion_tokens.0,
            reasoning: self.completion_tokens_details.as_ref().map_or(0, |details| details.reasoning_tokens.0),
            ..tool_core::runtime::Usage::default()
        }
    }
}
