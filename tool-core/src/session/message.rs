//! One message of a conversation.

use crate::call::{ModelResult, ToolCall};
use crate::session::raw_turn::RawTurn;
use crate::session::user_message::UserMessage;

/// One message of a conversation.
///
/// ```
/// use tool_core::session::{History, Message};
///
/// // A stored conversation continues.
/// let mut history = History::new();
/// history.extend([
///     Message::user("Good morning"),
///     Message::Assistant { text: Some("Good morning!".into()), calls: Vec::new(), native: None },
/// ]);
/// assert!(matches!(&history.messages()[0], Message::User(said) if said.text() == "Good morning"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Message {
    /// A message of the user.
    User(UserMessage),
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

impl Message {
    /// Creates a message of the user: a text, or a [`UserMessage`] with images and files.
    pub fn user(message: impl Into<UserMessage>) -> Self {
        Self::User(message.into())
    }
}
