//! What Converse's events and answers look like: an object of one member, named after what it is.

#![allow(clippy::struct_field_names)] // They are the provider's.

use crate::protocol::fields::{Count, Json, Object, Text};
use serde::Deserialize;

/// An event, or a whole answer.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Event<'a> {
    #[serde(borrow, default)]
    pub(super) message_start: Json<'a>,
    #[serde(borrow, default)]
    pub(super) content_block_start: Object<Start<'a>>,
    #[serde(borrow, default)]
    pub(super) content_block_delta: Object<Piece<'a>>,
    #[serde(borrow, default)]
    pub(super) content_block_stop: Object<Stop<'a>>,
    #[serde(borrow, default)]
    pub(super) message_stop: Object<MessageStop<'a>>,
    #[serde(borrow, default)]
    pub(super) metadata: Object<Metadata<'a>>,
    /// Of a whole answer.
    #[serde(borrow, default)]
    pub(super) output: Object<Output<'a>>,
    #[serde(borrow, default)]
    pub(super) stop_reason: Text<'a>,
    #[serde(default)]
    pub(super) usage: Object<Counts>,
    #[serde(borrow, default)]
    pub(super) trace: Object<Trace<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Start<'a> {
    #[serde(borrow, default)]
    pub(super) content_block_index: Text<'a>,
    #[serde(borrow, default)]
    pub(super) start: Json<'a>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Piece<'a> {
    #[serde(borrow, default)]
    pub(super) content_block_index: Text<'a>,
    #[serde(borrow, default)]
    pub(super) delta: Object<Delta<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Stop<'a> {
    #[serde(borrow, default)]
    pub(super) content_block_index: Text<'a>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MessageStop<'a> {
    #[serde(borrow, default)]
    pub(super) stop_reason: Text<'a>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Metadata<'a> {
    #[serde(default)]
    pub(super) usage: Object<Counts>,
    #[serde(borrow, default)]
    pub(super) trace: Object<Trace<'a>>,
}

/// What is told of the way of a request.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Trace<'a> {
    #[serde(borrow, default)]
    pub(super) prompt_router: Object<Router<'a>>,
}

/// Which model a router chose.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Router<'a> {
    #[serde(borrow, default)]
    pub(super) invoked_model_id: Text<'a>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Output<'a> {
    #[serde(borrow, default)]
    pub(super) message: Object<Message<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Message<'a> {
    #[serde(borrow, default)]
    pub(super) content: Json<'a>,
}

/// A piece of a block.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Delta<'a> {
    #[serde(borrow, default)]
    pub(super) text: Text<'a>,
    #[serde(borrow, default)]
    pub(super) tool_use: Object<ToolUse<'a>>,
    #[serde(borrow, default)]
    pub(super) reasoning_content: Object<Reasoning<'a>>,
    /// Pieces of the result of a tool that the provider ran itself.
    #[serde(borrow, default)]
    pub(super) tool_result: Json<'a>,
    #[serde(borrow, default)]
    pub(super) citation: Json<'a>,
}

/// What the model thinks.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Reasoning<'a> {
    #[serde(borrow, default)]
    pub(super) text: Text<'a>,
    #[serde(borrow, default)]
    pub(super) signature: Text<'a>,
    #[serde(borrow, default)]
    pub(super) redacted_content: Text<'a>,
    /// Of a whole block.
    #[serde(borrow, default)]
    pub(super) reasoning_text: Object<ReasoningText<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ReasoningText<'a> {
    #[serde(borrow, default)]
    pub(super) text: Text<'a>,
}

/// A content block, or how one starts.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Block<'a> {
    #[serde(borrow, default)]
    pub(super) text: Text<'a>,
    #[serde(borrow, default)]
    pub(super) tool_use: Object<ToolUse<'a>>,
    #[serde(borrow, default)]
    pub(super) reasoning_content: Object<Reasoning<'a>>,
    #[serde(borrow, default)]
    pub(super) citations_content: Object<Cited<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ToolUse<'a> {
    #[serde(borrow, default)]
    pub(super) tool_use_id: Text<'a>,
    #[serde(borrow, default)]
    pub(super) name: Text<'a>,
    /// An object; in a stream pieces of its text.
    #[serde(borrow, default)]
    pub(super) input: Json<'a>,
    /// `server_tool_use` where the provider runs it itself.
    #[serde(borrow, default, rename = "type")]
    pub(super) kind: Text<'a>,
}

/// Text with where it comes from.
#[derive(Debug, Deserialize)]
pub(super) struct Cited<'a> {
    #[serde(borrow, default)]
    pub(super) content: Json<'a>,
}

/// What was used; the tokens of the cache come besides the input.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Counts {
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
    pub(super) fn usage(self) -> tool_core::trace::TokenUsage {
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
