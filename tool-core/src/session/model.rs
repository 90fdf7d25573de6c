//! A language model, as the agent loop sees it.

use crate::call::ToolError;
use crate::session::event_queue::EventSender;
use crate::session::history::History;
use crate::session::message::Message;
use crate::session::model_info::ModelInfo;
use crate::session::model_step::ModelStep;
use crate::tool::{ProviderTool, ToolDefinition};
use crate::trace::TokenUsage;
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
    /// The model must give its typed answer now, and call no other tool: in the provider's form for
    /// structured output, or with the tool that takes it ([`ToolDefinition::takes_answer`]). The
    /// choice must not force a call, as providers refuse that beside thinking; an answer in another
    /// form comes back with its problems.
    Answer,
}

/// A request to a model.
#[derive(Clone, Copy, Debug)]
pub struct ModelRequest<'a> {
    /// The system instruction: the guides of the tools.
    pub instructions: &'a str,
    /// The conversation, oldest message first. Every call has exactly one result.
    pub history: &'a [Message],
    /// The tools. They stay the same under [`ToolChoice::None`], as some protocols refuse a history
    /// of calls without the tools' declarations.
    pub tools: &'a [ToolDefinition],
    /// The tools that the model finds by [`Policy::search_tools`](crate::Policy::search_tools),
    /// found or not; empty without a search. Those that it has found are among `tools`. A provider
    /// that defers tools itself takes them as deferred, without
    /// [`SEARCH_TOOL`](super::SEARCH_TOOL).
    pub searchable: &'a [ToolDefinition],
    /// The tools that providers run themselves. Each provider takes its own.
    pub provider_tools: &'a [Arc<dyn ProviderTool>],
    /// The tool choice.
    pub tool_choice: ToolChoice,
    /// The sender of the events of the reply, if it has a reader. A model that streams shows its
    /// text and its reasoning with it, piece by piece; any other leaves it alone.
    pub events: Option<&'a EventSender>,
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
    /// An error ends the reply. The future may be dropped at any point, when the turn is
    /// interrupted.
    fn step(
        &mut self,
        request: ModelRequest<'_>,
    ) -> impl Future<Output = Result<ModelStep, ToolError>> + Send;

    /// Prepares the conversation for the next step. A loop calls this before each one, so a model
    /// can shorten a history that its context cannot hold. Defaults to nothing.
    ///
    /// The future may be dropped at any point, when the turn is interrupted.
    fn prepare(&mut self, history: &mut History) -> impl Future<Output = ()> + Send {
        let _ = history;
        std::future::ready(())
    }

    /// Returns the tokens of answers that were paid for and could not be used, since the last call
    /// of this method: those of attempts that were repeated, and of a step that failed. They count
    /// in [`Reply::usage`](super::Reply::usage). Defaults to none.
    fn take_failed_usage(&mut self) -> TokenUsage {
        TokenUsage::default()
    }

    /// Returns true if the host has seen a part of the answer to the last step, for example by a
    /// listener for a stream. Such a step is not asked again by itself, as a person would read two
    /// beginnings. Defaults to false.
    fn has_shown_output(&self) -> bool {
        false
    }

    /// Returns the identity of the model. Defaults to a model named `model` without a provider.
    fn about(&self) -> ModelInfo {
        ModelInfo {
            model: "model".into(),
            provider: None,
        }
    }
}
