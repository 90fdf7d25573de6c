//! Images and files that a server has refused: a conversation goes on without those of earlier
//! messages.
//!
//! The rules of a provider do not tell which of its models see images, or that an image is broken.
//! A server refuses a request for it, and would refuse every later one, as the history has the
//! image.

use std::borrow::Cow;
use tool_adapters_providers::{unread_message, without_files};
use tool_core::session::Message;

/// The files that are left out of requests.
#[derive(Clone, Copy, Default)]
pub(crate) struct RefusedFiles {
    left_out: LeftOutFiles,
    /// The number of messages of the last history.
    seen: usize,
}

/// Numbers of messages, from the beginning of a history, whose files are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LeftOutFiles {
    /// The messages whose files are left out.
    all: usize,
    /// The messages whose files are left out if they are results of tools.
    results: usize,
}

impl RefusedFiles {
    /// Returns a history without the files that the server has refused.
    pub(crate) fn left_out_of<'h>(&self, history: &'h [Message]) -> Cow<'h, [Message]> {
        self.left_out.of(history)
    }

    /// Returns what to leave out of a request that the server has refused, in the order in which to
    /// try it. Files of results come first: some models take images of the user only.
    ///
    /// The newest message of the user keeps its own files: the user learns that they were refused.
    pub(crate) fn suspects(&self, history: &[Message]) -> Vec<LeftOutFiles> {
        let messages = unread_message(history).unwrap_or(history.len());
        let mut has_of_results = false;
        let mut has_of_users = false;
        for (position, message) in history.iter().enumerate().take(messages) {
            if self.left_out.has(position, message) || without_files(message).is_none() {
                continue;
            }
            match message {
                Message::Result { .. } => has_of_results = true,
                _ => has_of_users = true,
            }
        }

        let of_results = LeftOutFiles {
            results: messages,
            ..self.left_out
        };
        let all = LeftOutFiles {
            all: messages,
            results: messages,
        };
        let mut suspects = Vec::new();
        suspects.extend(has_of_results.then_some(of_results));
        suspects.extend(has_of_users.then_some(all));
        suspects
    }

    /// Leaves out files from now on.
    pub(crate) fn leave_out(&mut self, files: LeftOutFiles) {
        self.left_out = files;
    }

    /// Begins anew with another history, or one that was cut: it is shorter than the one before.
    pub(crate) fn forget_other_history(&mut self, history: &[Message]) {
        if history.len() < self.seen {
            self.left_out = LeftOutFiles::default();
        }
        self.seen = history.len();
    }
}

impl LeftOutFiles {
    /// Returns true if the files of a message are among these.
    fn has(self, position: usize, message: &Message) -> bool {
        match message {
            Message::Result { .. } => position < self.results,
            _ => position < self.all,
        }
    }

    /// Returns a history with notes in place of these files.
    pub(crate) fn of(self, history: &[Message]) -> Cow<'_, [Message]> {
        let mut written = Cow::Borrowed(history);
        for (position, message) in history.iter().enumerate() {
            if !self.has(position, message) {
                continue;
            }
            let Some(without) = without_files(message) else {
                continue;
            };
            if let Some(message) = written.to_mut().get_mut(position) {
                *message = without;
            }
        }
        written
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tool_core::Content;
    use tool_core::call::ModelResult;
    use tool_core::session::UserMessage;

    fn picture() -> Message {
        Message::user(UserMessage::default().image("aGk=", "image/png"))
    }

    /// Returns the result of a tool that has shown a picture.
    fn shown() -> Message {
        let parts = vec![Content::image("aGk=", "image/png")];
        Message::Result {
            call_id: "call_1".to_owned(),
            tool: "show".to_owned(),
            result: ModelResult {
                text: serde_json::to_string(&parts).expect("JSON"),
                is_error: false,
                reply: true,
                parts: true,
                is_text: false,
                goes_on: false,
            },
        }
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
        let all = |messages| LeftOutFiles {
            all: messages,
            results: messages,
        };
        assert_eq!(refused.suspects(&[picture()]), []);
        assert_eq!(refused.suspects(&[picture(), answer()]), [all(2)]);
        assert_eq!(refused.suspects(&[picture(), picture()]), [all(1)]);
    }

    #[test]
    fn files_of_results_are_suspected_first() {
        let refused = RefusedFiles::default();
        let history = [picture(), answer(), shown()];
        let results = LeftOutFiles { all: 0, results: 3 };
        let all = LeftOutFiles { all: 3, results: 3 };
        assert_eq!(refused.suspects(&history), [results, all]);
        assert_eq!(refused.suspects(&[answer(), answer(), shown()]), [results]);
    }

    #[test]
    fn files_of_the_user_are_suspected_after_those_of_results() {
        let mut refused = RefusedFiles::default();
        let history = [picture(), answer(), shown()];
        let results = LeftOutFiles { all: 0, results: 3 };
        refused.leave_out(results);
        let all = LeftOutFiles { all: 3, results: 3 };
        assert_eq!(refused.suspects(&history), [all]);
    }

    #[test]
    fn files_that_are_left_out_are_not_suspected_again() {
        let mut refused = RefusedFiles::default();
        let history = [picture(), Message::user("Go on.")];
        refused.leave_out(LeftOutFiles { all: 1, results: 1 });
        assert_eq!(refused.suspects(&history), []);
        let without = refused.left_out_of(&history);
        assert_eq!(without[0], Message::user("[image image/png left out]"));
    }

    #[test]
    fn a_history_that_was_cut_begins_anew() {
        let mut refused = RefusedFiles::default();
        let history = [answer(), picture(), answer(), picture(), answer()];
        refused.forget_other_history(&history);
        let left_out = LeftOutFiles { all: 3, results: 3 };
        refused.leave_out(left_out);
        refused.forget_other_history(&history);
        assert_eq!(refused.left_out, left_out);
        refused.forget_other_history(&history[1..]);
        assert_eq!(refused.left_out, LeftOutFiles::default());
    }
}
