//! Images and files that a server has refused: a conversation goes on without those of earlier messages.
//!
//! The rules of a provider do not tell which of its models see images, or that an image is broken. A server refuses a request for
//! it, and would refuse every later one, as the history has the image.

use std::borrow::Cow;
use tool_adapters_providers::{unread_message, without_files};
use tool_core::session::Message;

/// The messages whose files are left out of requests.
#[derive(Default)]
pub(crate) struct RefusedFiles {
    /// The number of messages, from the beginning of the history.
    messages: usize,
}

impl RefusedFiles {
    /// Returns a history without the files that the server has refused.
    pub(crate) fn left_out_of<'h>(&self, history: &'h [Message]) -> Cow<'h, [Message]> {
        without_files_before(self.messages, history)
    }

    /// Returns the number of messages whose files may be the reason for which the server has refused a request. `None` if there is
    /// no file in them. The newest message of the user keeps its own: the user learns that it was refused.
    pub(crate) fn suspects(&self, history: &[Message]) -> Option<usize> {
        let messages = unread_message(history).unwrap_or(history.len());
        let suspects = history.get(self.messages..messages)?;
        let has_files = suspects
            .iter()
            .any(|message| without_files(message).is_some());
        has_files.then_some(messages)
    }

    /// Leaves out the files of the first messages from now on.
    pub(crate) fn leave_out(&mut self, messages: usize) {
        self.messages = messages;
    }

    /// Begins anew with another history, which is shorter than the one before.
    pub(crate) fn forget_other_history(&mut self, history: &[Message]) {
        if history.len() < self.messages {
            self.messages = 0;
        }
    }
}

/// Returns a history with notes in place of the files of its first messages.
pub(crate) fn without_files_before(messages: usize, history: &[Message]) -> Cow<'_, [Message]> {
    let first = history.get(..messages).unwrap_or(history);
    let mut written = Cow::Borrowed(history);
    for (position, message) in first.iter().enumerate() {
        let Some(without) = without_files(message) else {
            continue;
        };
        if let Some(message) = written.to_mut().get_mut(position) {
            *message = without;
        }
    }
    written
}
