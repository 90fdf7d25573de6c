//! The members of events and answers that are read.

use crate::providers::lenient::{LenientCount, LenientObject, LenientText, RawJson};
use serde::Deserialize;
use serde_json::value::RawValue;
use tool_core::trace::TokenUsage;

/// A stream event, a whole answer, or the message with which a stream begins.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct MessageEvent<'a> {
    #[serde(rename = "type")]
    pub(crate) kind: LenientText<'a>,
    pub(crate) id: LenientText<'a>,
    pub(crate) model: LenientText<'a>,
    pub(crate) index: LenientText<'a>,
    pub(crate) content_block: RawJson<'a>,
    pub(crate) delta: RawJson<'a>,
    /// The message of `message_start`.
    pub(crate) message: RawJson<'a>,
    pub(crate) content: RawJson<'a>,
    pub(crate) stop_reason: LenientText<'a>,
    pub(crate) usage: LenientObject<MessageUsage>,
}

/// A piece of a block, or the end of a message.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Delta<'a> {
    #[serde(rename = "type")]
    pub(crate) kind: LenientText<'a>,
    pub(crate) text: LenientText<'a>,
    pub(crate) thinking: LenientText<'a>,
    pub(crate) signature: LenientText<'a>,
    pub(crate) partial_json: LenientText<'a>,
    pub(crate) citation: Option<&'a RawValue>,
    pub(crate) stop_reason: LenientText<'a>,
}

/// A content block.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct WireBlock<'a> {
    #[serde(rename = "type")]
    pub(crate) kind: LenientText<'a>,
    pub(crate) id: LenientText<'a>,
    pub(crate) name: LenientText<'a>,
    pub(crate) text: LenientText<'a>,
    pub(crate) thinking: LenientText<'a>,
    pub(crate) input: RawJson<'a>,
}

/// The tokens used. Members that an event leaves out keep their value.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct MessageUsage {
    input_tokens: Option<LenientCount>,
    cache_creation_input_tokens: Option<LenientCount>,
    cache_read_input_tokens: Option<LenientCount>,
    output_tokens: Option<LenientCount>,
    output_tokens_details: LenientObject<OutputDetails>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
struct OutputDetails {
    thinking_tokens: Option<LenientCount>,
}

impl MessageUsage {
    /// Takes over the members of a later event.
    pub(crate) fn update(&mut self, later: &Self) {
        let take = |mine: &mut Option<LenientCount>, later: Option<LenientCount>| *mine = later.or(*mine);
        take(&mut self.input_tokens, later.input_tokens);
        take(&mut self.cache_creation_input_tokens, later.cache_creation_input_tokens);
        take(&mut self.cache_read_input_tokens, later.cache_read_input_tokens);
        take(&mut self.output_tokens, later.output_tokens);
        self.output_tokens_details.0 = later.output_tokens_details.or(*self.output_tokens_details);
    }

    pub(crate) fn usage(&self) -> TokenUsage {
        let count = |count: Option<LenientCount>| count.unwrap_or_default().0;
        let cached = count(self.cache_read_input_tokens);
        let written = count(self.cache_creation_input_tokens);
        TokenUsage {
            input: count(self.input_tokens).saturating_add(cached).saturating_add(written),
            cached,
            output: count(self.output_tokens),
            reasoning: count(self.output_tokens_details.and_then(|details| details.thinking_tokens)),
            cache_written: written,
        }
    }
}
