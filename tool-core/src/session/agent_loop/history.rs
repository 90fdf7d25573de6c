//! The conversation, as it goes to the model.

use crate::call::model_result::{ModelResult, ResultForm};
use crate::call::response::ToolResponse;
use crate::call::tool_call::ToolCall;
use crate::tool::provider::ProviderId;
use serde_json::Value;

/// A model's step as its provider sent it, for the same provider to read again: signatures of its thoughts, the tools
/// that it ran itself. Others are told the text and the calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawTurn {
    /// Whose form it is.
    pub provider: ProviderId,
    /// Its items, in order. Where they hold calls, these are the step's calls, in the same order.
    pub items: Vec<Value>,
}

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Message {
    /// What the user said.
    User(String),
    /// What the model said and called.
    Assistant {
        /// What it said.
        text: Option<String>,
        /// What it called, with canonical arguments.
        calls: Vec<ToolCall>,
        /// The step as its provider sent it.
        native: Option<RawTurn>,
    },
    /// What came of a call.
    Result {
        /// The call's id.
        call_id: String,
        /// The tool's name, as it was called.
        tool: String,
        /// What the model reads.
        result: ModelResult,
    },
}

/// A conversation: what the user and the model said, the calls, and exactly one result to each. L22
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
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the form in which results go into it; plain unless told. L18
    #[must_use]
    pub fn result_form(mut self, form: ResultForm) -> Self {
        self.form = form;
        self
    }

    /// The messages, oldest first.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Adds a message, such as one that was kept elsewhere. Who adds calls adds their results right after them.
    pub fn push(&mut self, message: Message) {
        self.messages.push(message);
    }

    /// The messages, to keep elsewhere or to make shorter.
    pub fn into_messages(self) -> Vec<Message> {
        self.messages
    }

    /// An id that no call has.
    pub(crate) fn fresh_id(&self, also: &[ToolCall]) -> String {
        let mut ids = (self.calls().count() + also.len()..).map(|at| format!("call_{at}"));
        let free = ids.find(|id| self.calls().chain(also).all(|call| call.id() != id));
        free.unwrap_or_default()
    }

    /// Whether a call has that id.
    pub(crate) fn knows(&self, id: &str) -> bool {
        self.calls().any(|call| call.id() == id)
    }

    fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.messages.iter().flat_map(|message| match message {
            Message::Assistant { calls, .. } => calls.as_slice(),
            _ => &[],
        })
    }

    pub(crate) fn answer(&mut self, call: &ToolCall, response: &ToolResponse) {
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
