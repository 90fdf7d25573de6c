//! The members of answers that are read. Members are in camel case; some servers write them in snake case.

use crate::providers::lenient::{LenientCount, LenientObject, LenientObjects, LenientText, RawJson};
use serde::Deserialize;
use tool_core::trace::TokenUsage;

/// An answer or a chunk of one.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct GenerateAnswer<'a> {
    #[serde(alias = "response_id")]
    pub(crate) response_id: LenientText<'a>,
    #[serde(alias = "model_version")]
    pub(crate) model_version: LenientText<'a>,
    pub(crate) candidates: Option<LenientObjects<Candidate<'a>>>,
    #[serde(alias = "prompt_feedback")]
    pub(crate) prompt_feedback: LenientObject<PromptFeedback<'a>>,
    #[serde(alias = "usage_metadata")]
    pub(crate) usage_metadata: LenientObject<UsageMetadata>,
    pub(crate) error: RawJson<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct Candidate<'a> {
    pub(crate) index: LenientCount,
    pub(crate) content: LenientObject<WireContent<'a>>,
    #[serde(alias = "finish_reason")]
    pub(crate) finish_reason: LenientText<'a>,
    #[serde(alias = "finish_message")]
    pub(crate) finish_message: LenientText<'a>,
}

/// The model's content, in parts.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct WireContent<'a> {
    pub(crate) parts: RawJson<'a>,
}

/// The reason for which a prompt was blocked.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct PromptFeedback<'a> {
    #[serde(alias = "block_reason")]
    pub(crate) block_reason: LenientText<'a>,
    #[serde(alias = "block_reason_message")]
    pub(crate) block_reason_message: LenientText<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct WirePart<'a> {
    pub(crate) text: LenientText<'a>,
    pub(crate) thought: LenientText<'a>,
    #[serde(alias = "function_call")]
    pub(crate) function_call: LenientObject<FunctionCall<'a>>,
    #[serde(alias = "inline_data")]
    pub(crate) inline_data: LenientObject<InlineData<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct FunctionCall<'a> {
    pub(crate) id: LenientText<'a>,
    pub(crate) name: LenientText<'a>,
    pub(crate) args: RawJson<'a>,
    /// Pieces of arguments, if the request asks for them.
    #[serde(alias = "partial_args")]
    pub(crate) partial_args: RawJson<'a>,
    #[serde(alias = "will_continue")]
    pub(crate) will_continue: LenientText<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct InlineData<'a> {
    #[serde(alias = "mime_type")]
    pub(crate) mime_type: LenientText<'a>,
    pub(crate) data: LenientText<'a>,
}

/// The tokens used.
#[allow(clippy::struct_field_names)] // The names are the provider's.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct UsageMetadata {
    #[serde(alias = "prompt_token_count")]
    prompt_token_count: LenientCount,
    #[serde(alias = "cached_content_token_count")]
    cached_content_token_count: LenientCount,
    #[serde(alias = "candidates_token_count")]
    candidates_token_count: LenientCount,
    /// Live's name for the candidates' tokens.
    #[serde(alias = "response_token_count")]
    response_token_count: LenientCount,
    #[serde(alias = "thoughts_token_count")]
    thoughts_token_count: LenientCount,
    /// The input from tools that the provider ran itself.
    #[serde(alias = "tool_use_prompt_token_count")]
    tool_use_prompt_token_count: LenientCount,
}

impl UsageMetadata {
    pub(crate) fn usage(self) -> TokenUsage {
        let output = self.candidates_token_count.0.max(self.response_token_count.0);
        TokenUsage {
            input: self.prompt_token_count.0.saturating_add(self.tool_use_prompt_token_count.0),
            cached: self.cached_content_token_count.0,
            output: output.saturating_add(self.thoughts_token_count.0),
            reasoning: self.thoughts_token_count.0,
            ..TokenUsage::default()
        }
    }
}
