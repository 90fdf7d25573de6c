//! The members of events and answers that are read. An event is an object with one member, named after its kind.

#![allow(clippy::struct_field_names)] // The names are the provider's.

use crate::providers::lenient::{LenientCount, LenientObject, LenientText, RawJson};
use serde::Deserialize;
use tool_core::trace::TokenUsage;

/// A stream event or a whole answer.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct ConverseEvent<'a> {
    pub(crate) message_start: RawJson<'a>,
    pub(crate) content_block_start: LenientObject<BlockStart<'a>>,
    pub(crate) content_block_delta: LenientObject<BlockDelta<'a>>,
    pub(crate) content_block_stop: LenientObject<BlockStop<'a>>,
    pub(crate) message_stop: LenientObject<MessageStop<'a>>,
    pub(crate) metadata: LenientObject<Metadata<'a>>,
    /// The message of a whole answer.
    pub(crate) output: LenientObject<Output<'a>>,
    pub(crate) stop_reason: LenientText<'a>,
    pub(crate) usage: LenientObject<ConverseUsage>,
    pub(crate) trace: LenientObject<ConverseTrace<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct BlockStart<'a> {
    pub(crate) content_block_index: LenientText<'a>,
    pub(crate) start: RawJson<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct BlockDelta<'a> {
    pub(crate) content_block_index: LenientText<'a>,
    pub(crate) delta: LenientObject<Delta<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct BlockStop<'a> {
    pub(crate) content_block_index: LenientText<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct MessageStop<'a> {
    pub(crate) stop_reason: LenientText<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Metadata<'a> {
    pub(crate) usage: LenientObject<ConverseUsage>,
    pub(crate) trace: LenientObject<ConverseTrace<'a>>,
}

/// The route of a request.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct ConverseTrace<'a> {
    pub(crate) prompt_router: LenientObject<PromptRouter<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct PromptRouter<'a> {
    pub(crate) invoked_model_id: LenientText<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Output<'a> {
    pub(crate) message: LenientObject<OutputMessage<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct OutputMessage<'a> {
    pub(crate) content: RawJson<'a>,
}

/// A piece of a block.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct Delta<'a> {
    pub(crate) text: LenientText<'a>,
    pub(crate) tool_use: LenientObject<ToolUse<'a>>,
    pub(crate) reasoning_content: LenientObject<Reasoning<'a>>,
    /// Pieces of the result of a tool that the provider ran itself.
    pub(crate) tool_result: RawJson<'a>,
    pub(crate) citation: RawJson<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct Reasoning<'a> {
    pub(crate) text: LenientText<'a>,
    pub(crate) signature: LenientText<'a>,
    pub(crate) redacted_content: LenientText<'a>,
    /// The reasoning of a whole block.
    pub(crate) reasoning_text: LenientObject<ReasoningText<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct ReasoningText<'a> {
    pub(crate) text: LenientText<'a>,
}

/// A content block, or the beginning of one.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct WireBlock<'a> {
    pub(crate) text: LenientText<'a>,
    pub(crate) tool_use: LenientObject<ToolUse<'a>>,
    pub(crate) reasoning_content: LenientObject<Reasoning<'a>>,
    pub(crate) citations_content: LenientObject<CitedContent<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct ToolUse<'a> {
    pub(crate) tool_use_id: LenientText<'a>,
    pub(crate) name: LenientText<'a>,
    /// An object; in a stream a piece of its text.
    pub(crate) input: RawJson<'a>,
    /// `server_tool_use` for a tool that the provider runs itself.
    #[serde(rename = "type")]
    pub(crate) kind: LenientText<'a>,
}

/// Text with citations.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct CitedContent<'a> {
    pub(crate) content: RawJson<'a>,
}

/// The tokens used. Those of the cache are not part of the input.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct ConverseUsage {
    input_tokens: LenientCount,
    output_tokens: LenientCount,
    cache_read_input_tokens: LenientCount,
    cache_write_input_tokens: LenientCount,
}

impl ConverseUsage {
    pub(crate) fn usage(self) -> TokenUsage {
        let (cached, written) = (self.cache_read_input_tokens.0, self.cache_write_input_tokens.0);
        TokenUsage {
            input: self.input_tokens.0.saturating_add(cached).saturating_add(written),
            cached,
            output: self.output_tokens.0,
            cache_written: written,
            reasoning: 0,
        }
    }
}
