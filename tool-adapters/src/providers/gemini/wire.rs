//! What Gemini's answers look like. Members come in camel case; some servers write them in snake case.

use crate::providers::fields::{Count, Json, Object, Objects, Text};
use crate::providers::protocol;
use serde::Deserialize;

/// An answer, or a chunk of one.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Answer<'a> {
    #[serde(borrow, default, alias = "response_id")]
    pub(crate) response_id: Text<'a>,
    #[serde(borrow, default, alias = "model_version")]
    pub(crate) model_version: Text<'a>,
    #[serde(borrow)]
    pub(crate) candidates: Option<Objects<Candidate<'a>>>,
    #[serde(borrow, default, alias = "prompt_feedback")]
    pub(crate) prompt_feedback: Object<Feedback<'a>>,
    #[serde(default, alias = "usage_metadata")]
    pub(crate) usage_metadata: Object<Counts>,
    #[serde(borrow, default)]
    pub(crate) error: Json<'a>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Candidate<'a> {
    #[serde(default)]
    pub(crate) index: Count,
    #[serde(borrow, default)]
    pub(crate) content: Object<Content<'a>>,
    #[serde(borrow, default, alias = "finish_reason")]
    pub(crate) finish_reason: Text<'a>,
    #[serde(borrow, default, alias = "finish_message")]
    pub(crate) finish_message: Text<'a>,
}

/// What the model says: parts.
#[derive(Debug, Deserialize)]
pub(crate) struct Content<'a> {
    #[serde(borrow, default)]
    pub(crate) parts: Json<'a>,
}

/// Why a prompt was held back.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Feedback<'a> {
    #[serde(borrow, default, alias = "block_reason")]
    pub(crate) block_reason: Text<'a>,
    #[serde(borrow, default, alias = "block_reason_message")]
    pub(crate) block_reason_message: Text<'a>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Part<'a> {
    #[serde(borrow, default)]
    pub(crate) text: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) thought: Text<'a>,
    #[serde(borrow, default, alias = "function_call")]
    pub(crate) function_call: Object<Call<'a>>,
    #[serde(borrow, default, alias = "inline_data")]
    pub(crate) inline_data: Object<Blob<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Call<'a> {
    #[serde(borrow, default)]
    pub(crate) id: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) name: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) args: Json<'a>,
    /// Pieces of arguments, where the request asks for them.
    #[serde(borrow, default, alias = "partial_args")]
    pub(crate) partial_args: Json<'a>,
    #[serde(borrow, default, alias = "will_continue")]
    pub(crate) will_continue: Text<'a>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Blob<'a> {
    #[serde(borrow, default, alias = "mime_type")]
    pub(crate) mime_type: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) data: Text<'a>,
}

/// What was used.
#[allow(clippy::struct_field_names)] // They are the provider's.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Counts {
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
    pub(crate) fn usage(self) -> tool_core::trace::TokenUsage {
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
