//! The tokens of messages, as far as they can be estimated.

use crate::call::{Content, ModelResult};
use crate::session::history::History;
use crate::session::message::Message;
use crate::session::metrics::context::tokens_in;

/// The tokens of a picture, a page or a sound. Providers count between some hundreds and some
/// thousands.
const TOKENS_OF_DATA: u64 = 1_500;
/// The tokens around a message, a call or a result.
const TOKENS_AROUND: u64 = 4;

impl Message {
    /// Estimates the tokens that a model reads of the message: a token for each four characters,
    /// and 1,500 for a picture, a sound or a file without a text.
    pub fn estimated_tokens(&self) -> u64 {
        let inside = match self {
            Self::User(message) => message.parts().iter().map(part_tokens).sum(),
            Self::Assistant { text, calls, .. } => {
                let calls = calls.iter().map(|call| {
                    TOKENS_AROUND + tokens_in(call.name()) + tokens_in(call.arguments())
                });
                tokens_in(text.as_deref().unwrap_or_default()) + calls.sum::<u64>()
            }
            Self::Result { result, .. } => result_tokens(result),
        };
        TOKENS_AROUND + inside
    }
}

impl History {
    /// Estimates the tokens that a model reads of the messages.
    pub fn estimated_tokens(&self) -> u64 {
        let messages = self.messages().iter();
        messages.map(Message::estimated_tokens).sum()
    }
}

fn result_tokens(result: &ModelResult) -> u64 {
    match result.content() {
        Some(parts) => parts.iter().map(part_tokens).sum(),
        None => tokens_in(&result.text),
    }
}

fn part_tokens(part: &Content) -> u64 {
    match part {
        Content::Text { text } => tokens_in(text),
        Content::Resource {
            text: Some(text),
            name,
            ..
        } => tokens_in(text) + tokens_in(name.as_deref().unwrap_or_default()),
        _ => TOKENS_OF_DATA,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::user_message::UserMessage;

    #[test]
    fn a_picture_does_not_count_by_its_bytes() {
        let small = UserMessage::new("Hi").image("AA==", "image/png");
        let large = UserMessage::new("Hi").image("A".repeat(1 << 20), "image/png");
        let tokens = [small, large].map(|message| Message::User(message).estimated_tokens());
        assert_eq!(tokens, [1_505, 1_505]);
    }
}
