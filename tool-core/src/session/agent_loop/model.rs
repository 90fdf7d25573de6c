//! A language model, as the agent loop sees it.

use crate::call::error::ToolError;
use crate::call::tool_call::ToolCall;
use crate::session::agent_loop::history::{Message, RawTurn};
use crate::tool::definition::ToolDefinition;
use crate::tool::provider::ProviderTool;
use crate::trace::cost::TokenUsage;
use crate::trace::usage::ModelUsage;
use std::borrow::Cow;
use std::sync::Arc;

/// Whether a model may call tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ToolChoice {
    /// As it sees fit.
    #[default]
    Auto,
    /// No. Calls that it makes nevertheless are ignored.
    None,
    /// It has to call at least one.
    Required,
}

/// What a model is asked.
#[derive(Clone, Copy)]
pub struct ModelRequest<'a> {
    /// The system instruction: the guides of the tools.
    pub instructions: &'a str,
    /// All that was said, oldest first. Every call of it has exactly one result.
    pub history: &'a [Message],
    /// The tools that there are. They stay the same with [`ToolChoice::None`], as some protocols refuse a history of
    /// calls without them.
    pub tools: &'a [ToolDefinition],
    /// The tools that a provider runs itself; each provider takes its own.
    pub provider_tools: &'a [Arc<dyn ProviderTool>],
    /// Whether to call them.
    pub tool_choice: ToolChoice,
}

impl std::fmt::Debug for ModelRequest<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ModelRequest")
            .field("instructions", &self.instructions)
            .field("history", &self.history)
            .field("tools", &self.tools)
            .field("provider_tools", &self.provider_tools.len())
            .field("tool_choice", &self.tool_choice)
            .finish()
    }
}

/// What a model answers: text, calls, or both.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelStep {
    /// What it says.
    pub text: Option<String>,
    /// The calls that it makes, to be run concurrently. Those without an id are given one, and those whose id an
    /// earlier call has another.
    pub calls: Vec<ToolCall>,
    /// The step as the provider sent it, where that says more than text and calls do.
    pub native: Option<RawTurn>,
    /// What it has used.
    pub usage: TokenUsage,
    /// The model that answered, where the provider names another than it was asked for: a dated version.
    pub model: Option<String>,
    /// The provider's id of the response.
    pub response_id: Option<String>,
}

/// Which model it is, for spans and price tables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelInfo {
    /// Its name, as its provider knows it.
    pub model: Cow<'static, str>,
    /// Who runs it, as price tables know it: `openai`.
    pub provider: Option<Cow<'static, str>>,
}

impl ModelStep {
    /// A step that only says something.
    pub fn says(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), ..Self::default() }
    }

    /// What it used, for the span of the question.
    pub(crate) fn used(&self, about: &ModelInfo) -> ModelUsage {
        let model = self.model.clone().map_or_else(|| about.model.clone(), Cow::Owned);
        let calls = self.calls.iter().map(|call| (call.id().to_owned(), call.name().to_owned()));
        ModelUsage {
            model,
            provider: about.provider.clone(),
            usage: self.usage,
            response_id: self.response_id.clone(),
            tool_calls: calls.collect(),
        }
    }

    /// A step that only calls tools.
    pub fn calls(calls: impl IntoIterator<Item = ToolCall>) -> Self {
        Self { calls: calls.into_iter().collect(), ..Self::default() }
    }
}

/// A language model, or what stands for it.
///
/// ```
/// use tool_core::ToolError;
/// use tool_core::session::{Model, ModelRequest, ModelStep};
///
/// /// Says how much it has read.
/// struct Counts;
///
/// impl Model for Counts {
///     async fn step(&mut self, request: ModelRequest<'_>) -> Result<ModelStep, ToolError> {
///         Ok(ModelStep::says(format!("{} messages", request.history.len())))
///     }
/// }
/// ```
pub trait Model: Send {
    /// One answer to the conversation so far.
    ///
    /// An error ends the reply. The future may be dropped at any point, when the turn is interrupted.
    fn step(&mut self, request: ModelRequest<'_>) -> impl Future<Output = Result<ModelStep, ToolError>> + Send;

    /// Which model it is, for spans and price tables; a nameless one unless it says so.
    fn about(&self) -> ModelInfo {
        ModelInfo { model: "model".into(), provider: None }
    }
}
