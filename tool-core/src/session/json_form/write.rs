//! The JSON form of a conversation, and its published schema.

use crate::call::{Content, ModelResult, ResultForm, ToolCall};
use crate::session::history::History;
use crate::session::message::Message;
use crate::session::raw_turn::RawTurn;
use crate::session::user_message::UserMessage;
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use serde_json::Value;

/// The version of the form. A later form that this one cannot read has another version.
pub(crate) const VERSION: u64 = 1;

/// # The JSON form
///
/// A history is `{"version": 1, "messages": [..]}`, and each message has a `role`:
///
/// | role | members |
/// |---|---|
/// | `user` | `content`: the parts, each with a `type` as [`Content`] has it. A text alone is read too |
/// | `assistant` | `text`, `calls` (`id`, `name`, `arguments`) and `native` (`provider`, `items`), where it has them |
/// | `tool` | `callId`, `tool` and `result`, a [`ModelResult`](crate::call::ModelResult) |
///
/// A history that was shortened also has `removedCalls`: the ids of the calls that were removed, which
/// no later call gets.
///
/// The arguments of a call stay as they are, byte for byte. What belongs to the host is left out:
/// the session of a call, its approval, its listeners and its token for cancelling.
///
/// Every later version of this crate reads it. Members that it does not know are ignored, so a
/// newer version may add some.
impl History {
    /// Returns the history as JSON.
    ///
    /// ```
    /// use tool_core::session::{History, Message};
    ///
    /// let mut history = History::new();
    /// history.push(Message::user("Good morning"));
    /// let json = history.to_json();
    /// assert_eq!(
    ///     json,
    ///     r#"{"version":1,"messages":[{"role":"user","content":[{"type":"text","text":"Good morning"}]}]}"#
    /// );
    /// assert_eq!(History::from_json(&json)?, history);
    /// # Ok::<(), tool_core::session::HistoryError>(())
    /// ```
    pub fn to_json(&self) -> String {
        // Nothing of a history fails to serialise.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Returns the JSON Schema of the form, draft 2020-12.
    pub fn json_schema() -> Value {
        // A test checks histories against it, so it parses.
        serde_json::from_str(include_str!("history.schema.json")).unwrap_or_default()
    }
}

impl Serialize for History {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let is_plain = self.form() == ResultForm::Plain;
        let has_removed = !self.removed_calls().is_empty();
        let members = 2 + usize::from(!is_plain) + usize::from(has_removed);
        let mut form = serializer.serialize_struct("History", members)?;
        form.serialize_field("version", &VERSION)?;
        if is_plain {
            form.skip_field("resultForm")?;
        } else {
            form.serialize_field("resultForm", &self.form())?;
        }
        form.serialize_field("messages", self.messages())?;
        if has_removed {
            form.serialize_field("removedCalls", self.removed_calls())?;
        } else {
            form.skip_field("removedCalls")?;
        }
        form.end()
    }
}

/// A message as it is written.
#[derive(Serialize)]
#[serde(
    tag = "role",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
enum MessageForm<'a> {
    User {
        content: &'a [Content],
    },
    Assistant {
        #[serde(skip_serializing_if = "Option::is_none")]
        text: Option<&'a str>,
        #[serde(skip_serializing_if = "<[ToolCall]>::is_empty")]
        calls: &'a [ToolCall],
        #[serde(skip_serializing_if = "Option::is_none")]
        native: Option<&'a RawTurn>,
    },
    Tool {
        call_id: &'a str,
        tool: &'a str,
        result: &'a ModelResult,
    },
}

impl Message {
    /// Returns the message as JSON, in the form that it has in a history.
    pub fn to_json(&self) -> String {
        // Nothing of a message fails to serialise.
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let form = match self {
            Self::User(message) => MessageForm::User {
                content: message.parts(),
            },
            Self::Assistant {
                text,
                calls,
                native,
            } => MessageForm::Assistant {
                text: text.as_deref(),
                calls,
                native: native.as_ref().filter(|turn| turn.is_storable()),
            },
            Self::Result {
                call_id,
                tool,
                result,
            } => MessageForm::Tool {
                call_id,
                tool,
                result,
            },
        };
        form.serialize(serializer)
    }
}

impl Serialize for UserMessage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.parts().serialize(serializer)
    }
}
