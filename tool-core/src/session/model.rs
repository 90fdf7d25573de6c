//! A language model and its conversation, as the agent loop sees them.

use crate::call::{ModelResult, ResultForm, ToolCall, ToolError, ToolResponse};
use crate::json::nested::unless_too_deep;
use crate::tool::{ProviderId, ProviderTool, ToolDefinition};
use crate::trace::{ModelUsage, TokenUsage};
use serde_json::Value;
use std::borrow::Cow;
use std::sync::Arc;

/// A model's step as its provider sent it, with what the text and the calls do not say, for example signatures of its thoughts.
/// It is sent back to the same provider; other providers get the text and the calls. A turn with an item that nests deeper
/// than 128 is left out of the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawTurn {
    /// The provider whose format it is.
    pub provider: ProviderId,
    /// The items, in order. Calls among them are the step's calls, in the same order.
    pub items: Vec<Value>,
}

impl RawTurn {
    /// Returns the turn, unless one of its items nests deeper than 128.
    pub(crate) fn unless_too_deep(self) -> Option<Self> {
        let count = self.items.len();
        // Each item is taken, as dropping the rest would recurse.
        let items = self
            .items
            .into_iter()
            .filter_map(unless_too_deep)
            .collect::<Vec<_>>();
        (items.len() == count).then_some(Self { items, ..self })
    }
}

/// One message of a conversation.
///
/// ```
/// use tool_core::session::{History, Message};
///
/// // A stored conversation continues.
/// let mut history = History::new();
/// history.extend([
///     Message::User("Good morning".into()),
///     Message::Assistant { text: Some("Good morning!".into()), calls: Vec::new(), native: None },
/// ]);
/// assert!(matches!(&history.messages()[0], Message::User(text) if text == "Good morning"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Message {
    /// A message of the user.
    User(String),
    /// A step of the model.
    Assistant {
        /// The text.
        text: Option<String>,
        /// The calls, with canonical arguments.
        calls: Vec<ToolCall>,
        /// The step as its provider sent it.
        native: Option<RawTurn>,
    },
    /// The result of a call.
    Result {
        /// The call's id.
        call_id: String,
        /// The tool's name, as the model called it.
        tool: String,
        /// The result, as the model reads it.
        result: ModelResult,
    },
}

/// A conversation: the messages of the user and the model, the calls, and exactly one result for each call. To continue a
/// stored conversation, extend an empty history with its messages.
///
/// ```
/// use tool_core::session::{History, Message};
///
/// let mut history = History::new();
/// history.push(Message::User("Good morning".into()));
/// assert_eq!(history.messages().len(), 1);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    messages: Vec<Message>,
    form: ResultForm,
}

impl History {
    /// Creates an empty history.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the form of the results that are added. Defaults to plain results.
    #[must_use]
    pub fn result_form(mut self, form: ResultForm) -> Self {
        self.form = form;
        self
    }

    /// Returns the messages, oldest first.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Adds a message. Calls are followed by their results. Use [`repair`](Self::repair) for a history that was cut.
    pub fn push(&mut self, message: Message) {
        self.messages.push(message);
    }

    pub(crate) fn set_messages(&mut self, messages: Vec<Message>) {
        self.messages = messages;
    }

    /// Adds a message before the one at an index, or at the end. For transcripts that arrive after their answers.
    pub fn insert(&mut self, at: usize, message: Message) {
        self.messages.insert(at.min(self.messages.len()), message);
    }

    /// Returns the calls of all messages, oldest first.
    pub(crate) fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.messages.iter().flat_map(|message| match message {
            Message::Assistant { calls, .. } => calls.as_slice(),
            _ => &[],
        })
    }

    /// Adds the result of a call.
    pub(crate) fn push_result(&mut self, call: &ToolCall, response: &ToolResponse) {
        let result = response.for_model(self.form);
        self.push(Message::Result {
            call_id: call.id().to_owned(),
            tool: call.name().to_owned(),
            result,
        });
    }
}

impl Extend<Message> for History {
    fn extend<I: IntoIterator<Item = Message>>(&mut self, messages: I) {
        self.messages.extend(messages);
    }
}

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
    /// The model must give its typed answer now, and call no other tool: in the provider's form for structured output, or with
    /// the tool that takes it ([`ToolDefinition::takes_answer`]). The choice must not force a call, as providers refuse that
    /// beside thinking; an answer in another form comes back with its problems.
    Answer,
}

/// A request to a model.
#[derive(Clone, Copy, Debug)]
pub struct ModelRequest<'a> {
    /// The system instruction: the guides of the tools.
    pub instructions: &'a str,
    /// The conversation, oldest message first. Every call has exactly one result.
    pub history: &'a [Message],
    /// The tools. They stay the same under [`ToolChoice::None`], as some protocols refuse a history of calls without the
    /// tools' declarations.
    pub tools: &'a [ToolDefinition],
    /// The tools that the model finds by [`Policy::search_tools`](crate::Policy::search_tools), found or not; empty without a
    /// search. Those that it has found are among `tools`. A provider that defers tools itself takes them as deferred, without
    /// [`SEARCH_TOOL`](super::SEARCH_TOOL).
    pub searchable: &'a [ToolDefinition],
    /// The tools that providers run themselves. Each provider takes its own.
    pub provider_tools: &'a [Arc<dyn ProviderTool>],
    /// The tool choice.
    pub tool_choice: ToolChoice,
}

/// The end of a reply, by its reason.
///
/// A step of a model has one too: it is the end of the reply if no other step follows.
///
/// ```
/// use tool_core::session::{Reply, ReplyFinish};
///
/// /// Returns what to tell the user.
/// fn shown(reply: &Reply) -> String {
///     let text = reply.text.as_deref().unwrap_or_default();
///     match reply.finish {
///         ReplyFinish::Complete | ReplyFinish::StepLimit => text.to_owned(),
///         ReplyFinish::Length => format!("{text} (the answer is cut off)"),
///         ReplyFinish::Failed => "Please try again.".to_owned(),
///         _ => "I cannot answer this.".to_owned(),
///     }
/// }
/// # assert_eq!(shown(&Reply::default()), "");
/// ```
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ReplyFinish {
    /// The model has said all that it wanted to say.
    #[default]
    Complete,
    /// The answer was cut off at the limit of its length, or at the end of the model's context.
    Length,
    /// The provider withheld the answer, or the rest of it.
    Withheld,
    /// The model refused to answer. The text, if there is one, is the refusal.
    Refused,
    /// The reply had as many steps of calls as it may have
    /// ([`Policy::max_tool_steps`](crate::Policy::max_tool_steps)). The text is what the model said then.
    StepLimit,
    /// A budget or a cap of the session was used up: the model answered without the calls that it wanted to make.
    Budget,
    /// The provider paused a long answer more often than the loop continues it.
    Paused,
    /// The turn was interrupted, or the session ended, before the model had answered.
    Interrupted,
    /// The model could not be asked, or its answer could not be used. The reply's error says why, or the problems of a typed
    /// answer do.
    Failed,
}

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
    /// The model that answered, if the provider names another than the requested one, for example a dated version.
    pub model: Option<String>,
    /// The service tier that answered, as price tables name it. `None` for the standard one.
    pub service_tier: Option<String>,
    /// The provider's id of the response.
    pub response_id: Option<String>,
    /// The reason for which the answer ended. The calls of an answer that is not complete do not run: each gets a result that says so.
    pub finish: ReplyFinish,
    /// The limit of output tokens of the request, if it named one. The model reads it when a call was cut off.
    pub max_tokens: Option<u32>,
    /// The model that answered, if it is another than [`Model::about`] names, for example the second of a
    /// [`FallbackModel`](super::FallbackModel).
    pub answered_by: Option<ModelInfo>,
}

/// The identity of a model, for spans and price tables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelInfo {
    /// The model's name, as its provider uses it.
    pub model: Cow<'static, str>,
    /// The provider, as price tables name it, for example `openai`.
    pub provider: Option<Cow<'static, str>>,
}

impl ModelStep {
    /// Creates a step of text only.
    pub fn says(text: impl Into<String>) -> Self {
        Self {
            text: Some(text.into()),
            ..Self::default()
        }
    }

    /// Returns the usage to record in the span of the request.
    pub(crate) fn model_usage(&self, asked: &ModelInfo) -> ModelUsage {
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
    fn step(
        &mut self,
        request: ModelRequest<'_>,
    ) -> impl Future<Output = Result<ModelStep, ToolError>> + Send;

    /// Returns the tokens of answers that were paid for and could not be used, since the last call of this method: those of
    /// attempts that were repeated, and of a step that failed. They count in [`Reply::usage`](super::Reply::usage). Defaults to
    /// none.
    fn take_failed_usage(&mut self) -> TokenUsage {
        TokenUsage::default()
    }

    /// Returns true if the host has seen a part of the answer to the last step, for example by a listener for a stream. Such a
    /// step is not asked again by itself, as a person would read two beginnings. Defaults to false.
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
