//! A conversation.

use crate::call::{ResultForm, ToolCall, ToolResponse};
use crate::session::message::Message;
use std::collections::{BTreeSet, HashSet};
use std::mem;

/// A conversation: the messages of the user and the model, the calls, and exactly one result for
/// each call. It has a [JSON form](Self#the-json-form), in which you can store it.
///
/// ```
/// use tool_core::session::{History, Message};
///
/// let mut history = History::new();
/// history.push(Message::user("Good morning"));
/// assert_eq!(history.messages().len(), 1);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    messages: Vec<Message>,
    form: ResultForm,
    /// The ids of the calls that were removed, which no later call may have: the journal would
    /// answer it.
    removed_calls: BTreeSet<String>,
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

    /// Returns the form of the results that are added.
    pub(crate) fn form(&self) -> ResultForm {
        self.form
    }

    /// Returns the messages, oldest first.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Adds a message. Calls are followed by their results. Use [`repair`](Self::repair) for a
    /// history that was cut.
    pub fn push(&mut self, message: Message) {
        self.messages.push(message);
    }

    /// Returns the messages, oldest first, without a copy.
    pub fn into_messages(self) -> Vec<Message> {
        self.messages
    }

    pub(crate) fn messages_mut(&mut self) -> &mut [Message] {
        &mut self.messages
    }

    pub(crate) fn take_messages(&mut self) -> Vec<Message> {
        mem::take(&mut self.messages)
    }

    pub(crate) fn set_messages(&mut self, messages: Vec<Message>) {
        self.messages = messages;
    }

    /// Replaces the messages by those that were left when another run shortened the history.
    pub(crate) fn shorten_to(&mut self, left: Vec<Message>) {
        let before = mem::replace(&mut self.messages, left);
        let left = self.calls().map(ToolCall::id).collect::<HashSet<_>>();
        let removed = calls_in(&before).map(ToolCall::id);
        let removed = removed.filter(|id| !left.contains(id)).map(str::to_owned);
        let removed = removed.collect::<Vec<_>>();
        self.removed_calls.extend(removed);
    }

    /// Notes that these messages were removed.
    pub(crate) fn note_removed(&mut self, removed: &[Message]) {
        let ids = calls_in(removed).map(|call| call.id().to_owned());
        self.removed_calls.extend(ids);
    }

    /// Returns the ids of the calls that were removed.
    pub(crate) fn removed_calls(&self) -> &BTreeSet<String> {
        &self.removed_calls
    }

    pub(crate) fn set_removed_calls(&mut self, ids: BTreeSet<String>) {
        self.removed_calls = ids;
    }

    /// Removes the last message, if it is a text of the model without calls. Returns true if it
    /// was.
    pub(crate) fn pop_text_step(&mut self) -> bool {
        let is_text_step = matches!(
            self.messages.last(),
            Some(Message::Assistant { calls, .. }) if calls.is_empty()
        );
        if is_text_step {
            self.messages.pop();
        }
        is_text_step
    }

    /// Adds a message before the one at an index, or at the end. For transcripts that arrive after
    /// their answers.
    pub fn insert(&mut self, at: usize, message: Message) {
        self.messages.insert(at.min(self.messages.len()), message);
    }

    /// Returns the calls of all messages, oldest first.
    pub(crate) fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        calls_in(&self.messages)
    }

    /// Returns the result of a call as a message of this conversation.
    pub(crate) fn result_message(&self, call: &ToolCall, response: &ToolResponse) -> Message {
        Message::Result {
            call_id: call.id().to_owned(),
            tool: call.name().to_owned(),
            result: response.for_model(self.form),
        }
    }
}

/// Returns the calls of messages, oldest first.
fn calls_in(messages: &[Message]) -> impl Iterator<Item = &ToolCall> {
    messages.iter().flat_map(|message| match message {
        Message::Assistant { calls, .. } => calls.as_slice(),
        _ => &[],
    })
}

impl Extend<Message> for History {
    fn extend<I: IntoIterator<Item = Message>>(&mut self, messages: I) {
        self.messages.extend(messages);
    }
}
