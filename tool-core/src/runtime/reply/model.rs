//! A language model, as the agent loop sees it.

use super::Message;
use crate::call::ToolCall;
use crate::response::ToolError;
use crate::tool::ToolDefinition;

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
#[derive(Clone, Copy, Debug)]
pub struct ModelRequest<'a> {
    /// The system instruction: the guides of the tools.
    pub instructions: &'a str,
    /// All that was said, oldest first. Every call of it has exactly one result.
    pub history: &'a [Message],
    /// The tools that there are. They stay the same with [`ToolChoice::None`], as some protocols refuse a history of
    /// calls without them.
    pub tools: &'a [ToolDefinition],
    /// Whether to call them.
    pub tool_choice: ToolChoice,
}

/// What a model answers: text, calls, or both.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelStep {
    /// What it says.
    pub text: Option<String>,
    /// The calls that it makes, to be run concurrently. Those without an id are given one.
    pub calls: Vec<ToolCall>,
}

impl ModelStep {
    /// A step that only says something.
    pub fn says(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), calls: Vec::new() }
    }

    /// A step that only calls tools.
    pub fn calls(calls: impl IntoIterator<Item = ToolCall>) -> Self {
        Self { text: None, calls: calls.into_iter().collect() }
    }
}

/// A language model, or what stands for it.
///
/// ```
/// use tool_core::ToolError;
/// use tool_core::runtime::{Model, ModelRequest, ModelStep};
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
}
