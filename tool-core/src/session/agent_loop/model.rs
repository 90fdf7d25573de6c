//! A language model, as the agent loop sees it.

use crate::call::{ToolCall, ToolError};
use crate::session::agent_loop::history::{Message, RawTurn};
use crate::tool::{ProviderTool, ToolDefinition};
use crate::trace::{ModelUsage, TokenUsage};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// The model's choice to call tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// The model must not call tools. Calls that it makes nevertheless are ignored.
    None,
    /// The model must call at least one tool.
    Required,
}

/// A request to a model.
#[derive(Clone, Copy)]
pub struct ModelRequest<'a> {
    /// The system instruction: the guides of the tools.
    pub instructions: &'a str,
    /// The conversation, oldest message first. Every call has exactly one result.
    pub history: &'a [Message],
    /// The tools. They stay the same under [`ToolChoice::None`], as some protocols refuse a history of calls without the
    /// tools' declarations.
    pub tools: &'a [ToolDefinition],
    /// The tools that providers run themselves. Each provider takes its own.
    pub provider_tools: &'a [Arc<dyn ProviderTool>],
    /// The tool choice.
    pub tool_choice: ToolChoice,
}

impl fmt::Debug for ModelRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelRequest")
            .field("instructions", &self.instructions)
            .field("history", &self.history)
            .field("tools", &self.tools)
            .field("provider_tools", &self.provider_tools.len())
            .field("tool_choice", &self.tool_choice)
            .finish()
    }
}

/// A model's answer: text, calls, or both.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelStep {
    /// The text.
    pub text: Option<String>,
    /// The calls, which run concurrently. Calls without an id get one, and calls with the id of an earlier call get another.
    pub calls: Vec<ToolCall>,
    /// The step as the provider sent it, if it holds more than text and calls.
    pub native: Option<RawTurn>,
    /// The tokens used.
    pub usage: TokenUsage,
    /// The model that answered, if the provider names another than the requested one, such as a dated version.
    pub model: Option<String>,
    /// The provider's id of the response.
    pub response_id: Option<String>,
}

/// The identity of a model, for spans and price tables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelInfo {
    /// The model's name, as its provider uses it.
    pub model: Cow<'static, str>,
    /// The provider, as price tables name it, such as `openai`.
    pub provider: Option<Cow<'static, str>>,
}

impl ModelStep {
    /// Creates a step of text only.
    pub fn says(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), ..Self::default() }
    }

    /// Returns the usage to record in the span of the request.
    pub(crate) fn model_usage(&self, info: &ModelInfo) -> ModelUsage {
        let model = self.model.clone().map_or_else(|| info.model.clone(), Cow::Owned);
        let calls = self.calls.iter().map(|call| (call.id().to_owned(), call.name().to_owned()));
        ModelUsage {
            model,
            provider: info.provider.clone(),
            usage: self.usage,
            response_id: self.response_id.clone(),
            tool_calls: calls.collect(),
        }
    }

    /// Creates a step of calls only.
    pub fn calls(calls: impl IntoIterator<Item = ToolCall>) -> Self {
        Self { calls: calls.into_iter().collect(), ..Self::default() }
    }
}

/// A language model.
///
/// ```
/// use tool_core::ToolError;
/// use tool_core::session::{Model, ModelRequest, ModelStep};
///
/// /// Answers with the length of the conversation.
/// struct MessageCounter;
///
/// impl Model for MessageCounter {
///     async fn step(&mut self, request: ModelRequest<'_>) -> Result<ModelStep, ToolError> {
///         Ok(ModelStep::says(format!("{} messages", request.history.len())))
///     }
/// }
/// ```
pub trait Model: Send {
    /// Answers the conversation so far.
    ///
    /// An error ends the reply. The future may be dropped at any point, when the turn is interrupted.
    fn step(&mut self, request: ModelRequest<'_>) -> impl Future<Output = Result<ModelStep, ToolError>> + Send;

    /// Returns the identity of the model. Defaults to a model named `model` without a provider.
    fn about(&self) -> ModelInfo {
        ModelInfo { model: "model".into(), provider: None }
    }
}
