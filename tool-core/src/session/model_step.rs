//! A model's answer.

use crate::call::ToolCall;
use crate::session::model_info::ModelInfo;
use crate::session::raw_turn::RawTurn;
use crate::session::reply_finish::ReplyFinish;
use crate::trace::{ModelUsage, TokenUsage};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// A model's answer: text, calls, or both.
///
/// ```
/// use tool_core::ToolCall;
/// use tool_core::session::ModelStep;
/// use tool_core::trace::TokenUsage;
///
/// let usage = TokenUsage { input: 120, output: 8, ..TokenUsage::default() };
/// let step = ModelStep { usage, ..ModelStep::says("Good morning") };
/// assert_eq!(step.text.as_deref(), Some("Good morning"));
///
/// let step = ModelStep::calls([ToolCall::new("call_1", "add", r#"{"a": 1, "b": 2}"#)]);
/// assert_eq!(step.calls[0].name(), "add");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ModelStep {
    /// The text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The calls, which run concurrently. Calls without an id get one, and calls with the id of an
    /// earlier call get another.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ToolCall>,
    /// The step as the provider sent it, if it holds more than text and calls.
    #[serde(skip_serializing_if = "is_not_storable")]
    pub native: Option<RawTurn>,
    /// The tokens used.
    pub usage: TokenUsage,
    /// The model that answered, if the provider names another than the requested one, for example a
    /// dated version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The service tier that answered, as price tables name it. `None` for the standard one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_tier: Option<String>,
    /// The provider's id of the response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
    /// The reason for which the answer ended. The calls of an answer that is not complete do not
    /// run: each gets a result that says so.
    pub finish: ReplyFinish,
    /// The limit of output tokens of the request, if it named one. The model reads it when a call
    /// was cut off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// The model that answered, if it is another than [`Model::about`](super::Model::about) names,
    /// for example the second of a
    /// [`FallbackModel`](super::FallbackModel).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answered_by: Option<ModelInfo>,
}

impl ModelStep {
    /// Creates a step of text only.
    pub fn says(text: impl Into<String>) -> Self {
        Self {
            text: Some(text.into()),
            ..Self::default()
        }
    }

    /// Returns the usage to record in the span of the request, of a model that says this about
    /// itself. A step that another model has answered names that one.
    pub fn model_usage(&self, asked: &ModelInfo) -> ModelUsage {
        let info = self.answered_by.as_ref().unwrap_or(asked);
        let model = self
            .model
            .clone()
            .map_or_else(|| info.model.clone(), Cow::Owned);
        let calls = self
            .calls
            .iter()
            .map(|call| (call.id().to_owned(), call.name().to_owned()));
        ModelUsage {
            model,
            provider: info.provider.clone(),
            usage: self.usage,
            service_tier: self.service_tier.clone().map(Cow::Owned),
            response_id: self.response_id.clone(),
            tool_calls: calls.collect(),
        }
    }

    /// Creates a step of calls only.
    pub fn calls(calls: impl IntoIterator<Item = ToolCall>) -> Self {
        Self {
            calls: calls.into_iter().collect(),
            ..Self::default()
        }
    }
}

/// Returns true for no turn, and for one that nests too deep to be stored.
#[allow(clippy::ref_option, reason = "serde passes a reference")]
fn is_not_storable(native: &Option<RawTurn>) -> bool {
    !native.as_ref().is_some_and(RawTurn::is_storable)
}
