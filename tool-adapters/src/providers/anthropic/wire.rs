//! What Anthropic's events and answers look like.

use crate::providers::fields::{Count, Json, Object, Text};
use serde::Deserialize;
use serde_json::value::RawValue;

/// An event, a whole answer, or the message with which a stream starts.
#[derive(Debug, Deserialize)]
pub(crate) struct Event<'a> {
    #[serde(borrow, default, rename = "type")]
    pub(crate) kind: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) id: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) model: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) index: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) content_block: Json<'a>,
    #[serde(borrow, default)]
    pub(crate) delta: Json<'a>,
    /// Of `message_start`.
    #[serde(borrow, default)]
    pub(crate) message: Json<'a>,
    #[serde(borrow, default)]
    pub(crate) content: Json<'a>,
    #[serde(borrow, default)]
    pub(crate) stop_reason: Text<'a>,
    #[serde(default)]
    pub(crate) usage: Object<Counts>,
}

/// A piece of a block, or what ends a message.
#[derive(Debug, Deserialize)]
pub(crate) struct Delta<'a> {
    #[serde(borrow, default, rename = "type")]
    pub(crate) kind: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) text: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) thinking: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) signature: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) partial_json: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) citation: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) stop_reason: Text<'a>,
}

/// A content block.
#[derive(Debug, Deserialize)]
pub(crate) struct Content<'a> {
    #[serde(borrow, default, rename = "type")]
    pub(crate) kind: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) id: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) name: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) text: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) thinking: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) input: Json<'a>,
}

/// What was used. What an event does not say stays as it was.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Counts {
    input_tokens: Option<Count>,
    cache_creation_input_tokens: Option<Count>,
    cache_read_input_tokens: Option<Count>,
    output_tokens: Option<Count>,
    #[serde(default)]
    output_tokens_details: Object<Details>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct Details {
    thinking_tokens: Option<Count>,
}

impl Counts {
    /// Takes over what a later event says.
    pub(crate) fn update(&mut self, later: &Self) {
        let take = |mine: &mut Option<Count>, later: Option<Count>| *mine = later.or(*mine);
        take(&mut self.input_tokens, later.input_tokens);
        take(&mut self.cache_creation_input_tokens, later.cache_creation_input_tokens);
        take(&mut self.cache_read_input_tokens, later.cache_read_input_tokens);
        take(&mut self.output_tokens, later.output_tokens);
        self.output_tokens_details.0 = later.output_tokens_details.0.or(self.output_tokens_details.0);
    }

    pub(crate) fn usage(&self) -> tool_core::trace::TokenUsage {
        let count = |count: Option<Count>| count.unwrap_or_default().0;
        let cached = count(self.cache_read_input_tokens);
        let written = count(self.cache_creation_input_tokens);
        tool_core::trace::TokenUsage {
            input: count(self.input_tokens).saturating_add(cached).saturating_add(written),
            cached,
            output: count(self.output_tokens),
            reasoning: count(self.output_tokens_details.and_then(|details| details.thinking_tokens)),
            cache_written: written,
        }
    }
}
