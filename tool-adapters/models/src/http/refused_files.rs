//! Images and files that a server has refused: a conversation goes on without those of earlier
//! messages.
//!
//! The rules of a provider do not tell which of its models see images, or that an image is broken.
//! A server refuses a request for it, and would refuse every later one, as the history has the
//! image.

use std::borrow::Cow;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use tool_adapters_providers::{unread_message, without_files};
use tool_core::session::Message;

/// The files that are left out of requests.
#[derive(Clone, Default)]
pub(crate) struct RefusedFiles {
    left_out: LeftOutFiles,
}

/// The messages whose files are left out, by their digests: a message keeps its digest when the
/// history is shortened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LeftOutFiles(HashSet<u64>);

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
        let mut of_results = self.left_out.clone();
        let mut all = self.left_out.clone();
        for message in read_messages(history) {
            if without_files(message).is_none() {
                continue;
            }
            let digest = digest_of(message);
            all.0.insert(digest);
            if matches!(message, Message::Result { .. }) {
                of_results.0.insert(digest);
            }
        }

        let mut suspects = Vec::new();
        if of_results != self.left_out {
            suspects.push(of_results.clone());
        }
        if all != of_results {
            suspects.push(all);
        }
        suspects
    }

    /// Leaves out files from now on.
    pub(crate) fn leave_out(&mut self, files: LeftOutFiles) {
        self.left_out = files;
    }

    /// Forgets the messages that are not in the history any more.
    pub(crate) fn forget_lost_messages(&mut self, history: &[Message]) {
        let left_out = &mut self.left_out.0;
        if left_out.is_empty() {
            return;
        }
        let with_files = history
            .iter()
            .filter(|message| without_files(message).is_some());
        let present = with_files.map(digest_of).collect::<HashSet<_>>();
        left_out.retain(|digest| present.contains(digest));
    }
}

impl LeftOutFiles {
    /// Returns a history with notes in place of these files.
    pub(crate) fn of<'h>(&self, history: &'h [Message]) -> Cow<'h, [Message]> {
        let mut written = Cow::Borrowed(history);
        if self.0.is_empty() {
            return written;
        }
        for (position, message) in read_messages(history).iter().enumerate() {
            let Some(without) = without_files(message) else {
                continue;
            };
            if !self.0.contains(&digest_of(message)) {
                continue;
            }
            if let Some(message) = written.to_mut().get_mut(position) {
                *message = without;
            }
        }
        written
    }
}

/// Returns the messages before the newest one of the user, which the model has not answered yet.
fn read_messages(history: &[Message]) -> &[Message] {
    let count = unread_message(history).unwrap_or(history.len());
    history.get(..count).unwrap_or_default()
}

fn digest_of(message: &Message) -> u64 {
    let mut hasher = DefaultHasher::new();
    let json = serde_json::to_string(message).unwrap_or_default();
    json.hash(&mut hasher);
    hasher.finish()
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

    /// Returns the files of these messages.
    fn files_of(messages: &[Message]) -> LeftOutFiles {
        LeftOutFiles(messages.iter().map(digest_of).collect())
    }

    #[test]
    fn the_newest_message_keeps_its_files() {
        let refused = RefusedFiles::default();
        let all = files_of(&[picture()]);
        assert_eq!(refused.suspects(&[picture()]), []);
        let only = std::slice::from_ref(&all);
        assert_eq!(refused.suspects(&[picture(), answer()]), only);
        let twice = [picture(), picture()];
        assert_eq!(refused.suspects(&twice), only);

        let without = all.of(&twice);
        assert_ne!(without[0], picture());
        assert_eq!(without[1], picture());
    }

    #[test]
    fn files_of_results_are_suspected_first() {
        let refused = RefusedFiles::default();
        let history = [picture(), answer(), shown()];
        let results = files_of(&[shown()]);
        let all = files_of(&[picture(), shown()]);
        assert_eq!(refused.suspects(&history), [results.clone(), all]);
        assert_eq!(refused.suspects(&[answer(), answer(), shown()]), [results]);
    }

    #[test]
    fn files_of_the_user_are_suspected_after_those_of_results() {
        let mut refused = RefusedFiles::default();
        let history = [picture(), answer(), shown()];
        refused.leave_out(files_of(&[shown()]));
        let all = files_of(&[picture(), shown()]);
        assert_eq!(refused.suspects(&history), [all]);
    }

    #[test]
    fn files_that_are_left_out_are_not_suspected_again() {
        let mut refused = RefusedFiles::default();
        let history = [picture(), Message::user("Go on.")];
        refused.leave_out(files_of(&[picture()]));
        assert_eq!(refused.suspects(&history), []);
        let without = refused.left_out_of(&history);
        assert_eq!(without[0], Message::user("[image image/png left out]"));
    }

    #[test]
    fn files_in_a_shortened_history_stay_left_out() {
        let mut refused = RefusedFiles::default();
        refused.leave_out(files_of(&[picture()]));
        let other = Message::user(UserMessage::default().image("eW8=", "image/png"));
        // The beginning was cut, and as many messages came.
        let history = [picture(), answer(), other.clone(), answer(), answer()];
        refused.forget_lost_messages(&history);
        let without = refused.left_out_of(&history);
        assert_eq!(without[0], Message::user("[image image/png left out]"));
        assert_eq!(without[2], other);
    }

    #[test]
    fn another_history_begins_anew() {
        let mut refused = RefusedFiles::default();
        refused.leave_out(files_of(&[picture()]));
        refused.forget_lost_messages(&[answer(), picture()]);
        assert_eq!(refused.left_out, files_of(&[picture()]));
        refused.forget_lost_messages(&[answer(), answer()]);
        assert_eq!(refused.left_out, LeftOutFiles::default());
    }
}
