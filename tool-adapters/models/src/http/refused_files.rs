//! Images and files that a server has refused: a conversation goes on without those of earlier
//! messages.
//!
//! The rules of a provider do not tell which of its models see images, or that an image is broken.
//! A server refuses a request for it, and would refuse every later one, as the history has the
//! image.

use std::borrow::Cow;
use tool_adapters_providers::{unread_message, without_files};
use tool_core::session::Message;

/// The messages whose files are left out of requests.
#[derive(Clone, Copy, Default)]
pub(crate) struct RefusedFiles {
    /// The number of messages, from the beginning of the history.
    messages: usize,
    /// The number of messages of the last history.
    seen: usize,
}

impl RefusedFiles {
    /// Returns a history without the files that the server has refused.
    pub(crate) fn left_out_of<'h>(&self, history: &'h [Message]) -> Cow<'h, [Message]> {
        without_files_before(self.messages, history)
    }

    /// Returns the number of messages whose files may be the reason for which the server has
    /// refused a request. `None` if there is no file in them. The newest message of the user keeps
    /// its own: the user learns that it was refused.
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

    /// Begins anew with another history, or one that was cut: it is shorter than the one before.
    pub(crate) fn forget_other_history(&mut self, history: &[Message]) {
        if history.len() < self.seen {
            self.messages = 0;
        }
        self.seen = history.len();
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

#[cfg(test)]
mod tests {
    use super::*;
    use tool_core::session::UserMessage;

    fn picture() -> Message {
        Message::user(UserMessage::default().image("aGk=", "image/png"))
    }

    fn answer() -> Message {
        Message::Assistant {
            text: Some("Yes.".into()),
            calls: Vec::new(),
            native: None,
        }
    }

    #[test]
    fn the_newest_message_keeps_its_files() {
        let refused = RefusedFiles::default();
        assert_eq!(refused.suspects(&[picture()]), None);
        assert_eq!(refused.suspects(&[picture(), answer()]), Some(2));
        assert_eq!(refused.suspects(&[picture(), picture()]), Some(1));
    }

    #[test]
    fn files_that_are_left_out_are_not_suspected_again() {
        let mut refused = RefusedFiles::default();
        let history = [picture(), Message::user("Go on.")];
        refused.leave_out(1);
        assert_eq!(refused.suspects(&history), None);
        let without = refused.left_out_of(&history);
        assert_eq!(without[0], Message::user("[image image/png left out]"));
    }

    #[test]
    fn a_history_that_was_cut_begins_anew() {
        let mut refused = RefusedFiles::default();
        let history = [answer(), picture(), answer(), picture(), answer()];
        refused.forget_other_history(&history);
        refused.leave_out(3);
        refused.forget_other_history(&history);
        assert_eq!(refused.messages, 3);
        refused.forget_other_history(&history[1..]);
        assert_eq!(refused.messages, 0);
    }
}
