//! What Converse's events and answers look like: an object of one member, named after what it is.

#![allow(clippy::struct_field_names)] // They are the provider's.

use crate::providers::fields::{Count, Json, Object, Text};
use serde::Deserialize;

/// An event, or a whole answer.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Event<'a> {
    #[serde(borrow, default)]
    pub(crate) message_start: Json<'a>,
    #[serde(borrow, default)]
    pub(crate) content_block_start: Object<Start<'a>>,
    #[serde(borrow, default)]
    pub(crate) content_block_delta: Object<Piece<'a>>,
    #[serde(borrow, default)]
    pub(crate) content_block_stop: Object<Stop<'a>>,
    #[serde(borrow, default)]
    pub(crate) message_stop: Object<MessageStop<'a>>,
    #[serde(borrow, default)]
    pub(crate) metadata: Object<Metadata<'a>>,
    /// Of a whole answer.
    #[serde(borrow, default)]
    pub(crate) output: Object<Output<'a>>,
    #[serde(borrow, default)]
    pub(crate) stop_reason: Text<'a>,
    #[serde(default)]
    pub(crate) usage: Object<Counts>,
    #[serde(borrow, default)]
    pub(crate) trace: Object<Trace<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Start<'a> {
    #[serde(borrow, default)]
    pub(crate) content_block_index: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) start: Json<'a>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Piece<'a> {
    #[serde(borrow, default)]
    pub(crate) content_block_index: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) delta: Object<Delta<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Stop<'a> {
    #[serde(borrow, default)]
    pub(crate) content_block_index: Text<'a>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MessageStop<'a> {
    #[serde(borrow, default)]
    pub(crate) stop_reason: Text<'a>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Metadata<'a> {
    #[serde(default)]
    pub(crate) usage: Object<Counts>,
    #[serde(borrow, default)]
    pub(crate) trace: Object<Trace<'a>>,
}

/// What is told of the way of a request.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Trace<'a> {
    #[serde(borrow, default)]
    pub(crate) prompt_router: Object<Router<'a>>,
}

/// Which model a router chose.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Router<'a> {
    #[serde(borrow, default)]
    pub(crate) invoked_model_id: Text<'a>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Output<'a> {
    #[serde(borrow, default)]
    pub(crate) message: Object<Message<'a>>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Message<'a> {
    #[serde(borrow, default)]
    pub(crate) content: Json<'a>,
}

/// A piece of a block.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Delta<'a> {
    #[serde(borrow, default)]
    pub(crate) text: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) tool_use: Object<ToolUse<'a>>,
    #[serde(borrow, default)]
    pub(crate) reasoning_content: Object<Reasoning<'a>>,
    /// Pieces of the result of a tool that the provider ran itself.
    #[serde(borrow, default)]
    pub(crate) tool_result: Json<'a>,
    #[serde(borrow, default)]
    pub(crate) citation: Json<'a>,
}

/// What the model thinks.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Reasoning<'a> {
    #[serde(borrow, default)]
    pub(crate) text: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) signature: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) redacted_content: Text<'a>,
    /// Of a whole block.
    #[serde(borrow, default)]
    pub(crate) reasoning_text: Object<ReasoningText<'a>>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ReasoningText<'a> {
    #[serde(borrow, default)]
    pub(crate) text: Text<'a>,
}

/// A content block, or how one starts.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Block<'a> {
    #[serde(borrow, default)]
    pub(crate) text: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) tool_use: Object<ToolUse<'a>>,
    #[serde(borrow, default)]
    pub(crate) reasoning_content: Object<Reasoning<'a>>,
    #[serde(borrow, default)]
    pub(crate) citations_content: Object<Cited<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToolUse<'a> {
    #[serde(borrow, default)]
    pub(crate) tool_use_id: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) name: Text<'a>,
    /// An object; in a stream pieces of its text.
    #[serde(borrow, default)]
    pub(crate) input: Json<'a>,
    /// `server_tool_use` where the provider runs it itself.
    #[serde(borrow, default, rename = "type")]
    pub(crate) kind: Text<'a>,
}

/// Text with where it comes from.
#[derive(Debug, Deserialize)]
pub(crate) struct Cited<'a> {
    #[serde(borrow, default)]
    pub(crate) content: Json<'a>,
}

/// What was used; the tokens of the cache come besides the input.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Counts {
    #[serde(default)]
    input_tokens: Count,
    #[serde(default)]
    output_tokens: Count,
    #[serde(default)]
    cache_read_input_tokens: Count,
    #[serde(default)]
    cache_write_input_tokens: Count,
}

impl Counts {
    pub(crate) fn usage(self) -> tool_core::trace::TokenUsage {
        let (cached, written) = (self.cache_read_input_tokens.0, self.cache_write_input_tokens.0);
        tool_core::trace::TokenUsage {
            input: self.input_tokens.0.saturating_add(cached).saturating_add(written),
            cached,
            output: self.output_tokens.0,
            cache_written: written,
            reasoning: 0,
        }
    }
}
