//! What Gemini's answers look like. Members come in camel case; some servers write them in snake case.

use crate::protocol::fields::{Count, Json, Object, Objects, Text};
use serde::Deserialize;

/// An answer, or a chunk of one.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Answer<'a> {
    #[serde(borrow, default, alias = "response_id")]
    pub(super) response_id: Text<'a>,
    #[serde(borrow, default, alias = "model_version")]
    pub(super) model_version: Text<'a>,
    #[serde(borrow)]
    pub(super) candidates: Option<Objects<Candidate<'a>>>,
    #[serde(borrow, default, alias = "prompt_feedback")]
    pub(super) prompt_feedback: Object<Feedback<'a>>,
    #[serde(default, alias = "usage_metadata")]
    pub(super) usage_metadata: Object<Counts>,
    #[serde(borrow, default)]
    pub(super) error: Json<'a>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Candidate<'a> {
    #[serde(default)]
    pub(super) index: Count,
    #[serde(borrow, default)]
    pub(super) content: Object<Content<'a>>,
    #[serde(borrow, default, alias = "finish_reason")]
    pub(super) finish_reason: Text<'a>,
    #[serde(borrow, default, alias = "finish_message")]
    pub(super) finish_message: Text<'a>,
}

/// What the model says: parts.
#[derive(Debug, Deserialize)]
pub(in crate::protocol) struct Content<'a> {
    #[serde(borrow, default)]
    pub(in crate::protocol) parts: Json<'a>,
}

/// Why a prompt was held back.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Feedback<'a> {
    #[serde(borrow, default, alias = "block_reason")]
    pub(super) block_reason: Text<'a>,
    #[serde(borrow, default, alias = "block_reason_message")]
    pub(super) block_reason_message: Text<'a>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Part<'a> {
    #[serde(borrow, default)]
    pub(super) text: Text<'a>,
    #[serde(borrow, default)]
    pub(super) thought: Text<'a>,
    #[serde(borrow, default, alias = "function_call")]
    pub(super) function_call: Object<Call<'a>>,
    #[serde(borrow, default, alias = "inline_data")]
    pub(super) inline_data: Object<Blob<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::protocol) struct Call<'a> {
    #[serde(borrow, default)]
    pub(super) id: Text<'a>,
    #[serde(borrow, default)]
    pub(super) name: Text<'a>,
    #[serde(borrow, default)]
    pub(super) args: Json<'a>,
    /// Pieces of arguments, where the request asks for them.
    #[serde(borrow, default, alias = "partial_args")]
    pub(super) partial_args: Json<'a>,
    #[serde(borrow, default, alias = "will_continue")]
    pub(super) will_continue: Text<'a>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Blob<'a> {
    #[serde(borrow, default, alias = "mime_type")]
    pub(super) mime_type: Text<'a>,
    #[serde(borrow, default)]
    pub(super) data: Text<'a>,
}

/// What was used.
#[allow(clippy::struct_field_names)] // They are the provider's.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::protocol) struct Counts {
    #[serde(default, alias = "prompt_token_count")]
    prompt_token_count: Count,
    #[serde(default, alias = "cached_content_token_count")]
    cached_content_token_count: Count,
    #[serde(default, alias = "candidates_token_count")]
    candidates_token_count: Count,
    /// What Live calls the same.
    #[serde(default, alias = "response_token_count")]
    response_token_count: Count,
    #[serde(default, alias = "thoughts_token_count")]
    thoughts_token_count: Count,
    /// What the tools that it ran itself gave it to read.
    #[serde(default, alias = "tool_use_prompt_token_count")]
    tool_use_prompt_token_count: Count,
}

impl Counts {
    pub(in crate::protocol) fn usage(self) -> tool_core::trace::TokenUsage {
        let said = self.candidates_token_count.0.max(self.response_token_count.0);
        tool_core::trace::TokenUsage {
            input: self.prompt_token_count.0.saturating_add(self.tool_use_prompt_token_count.0),
            cached: self.cached_content_token_count.0,
            output: said.saturating_add(self.thoughts_token_count.0),
            reasoning: self.thoughts_token_count.0,
            ..tool_core::trace::TokenUsage::default()
        }
    }
}
