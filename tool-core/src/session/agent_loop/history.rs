//! The conversation, as it goes to the model.

use crate::call::{ModelResult, ResultForm, ToolCall, ToolResponse};
use crate::tool::ProviderId;
use serde_json::Value;

/// A model's step as its provider sent it, with what the text and the calls do not say, such as signatures of its thoughts.
/// It is sent back to the same provider; other providers get the text and the calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawTurn {
    /// The provider whose format it is.
    pub provider: ProviderId,
    /// The items, in order. Calls among them are the step's calls, in the same order.
    pub items: Vec<Value>,
}

/// One message of a conversation.
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

/// A conversation: the messages of the user and the model, the calls, and exactly one result for each call.
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

    /// Adds a message. Calls must be followed by their results.
    pub fn push(&mut self, message: Message) {
        self.messages.push(message);
    }

    /// Returns the messages, to store or to shorten them.
    pub fn into_messages(self) -> Vec<Message> {
        self.messages
    }

    /// Returns an id that no call has.
    pub(crate) fn fresh_id(&self, also: &[ToolCall]) -> String {
        let mut ids = (self.calls().count() + also.len()..).map(|at| format!("call_{at}"));
        let free = ids.find(|id| self.calls().chain(also).all(|call| call.id() != id));
        free.unwrap_or_default()
    }

    /// Returns true if a call has that id.
    pub(crate) fn has_call(&self, id: &str) -> bool {
        self.calls().any(|call| call.id() == id)
    }

    fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.messages.iter().flat_map(|message| match message {
            Message::Assistant { calls, .. } => calls.as_slice(),
            _ => &[],
        })
    }

    /// Adds the result of a call.
    pub(crate) fn push_result(&mut self, call: &ToolCall, response: &ToolResponse) {
        let result = response.for_model(self.form);
        self.push(Message::Result { call_id: call.id().to_owned(), tool: call.name().to_owned(), result });
    }
}

impl From<Vec<Message>> for History {
    fn from(messages: Vec<Message>) -> Self {
        Self { messages, form: ResultForm::default() }
    }
}

impl Extend<Message> for History {
    fn extend<I: IntoIterator<Item = Message>>(&mut self, messages: I) {
        self.messages.extend(messages);
    }
}
