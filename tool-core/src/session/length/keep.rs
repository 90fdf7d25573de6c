//! The part of a conversation that is kept.

use crate::trace::context_window;

/// The part of a conversation that is kept: so many messages, turns or tokens, or a share of the
/// model's context.
///
/// [`History::trim`](crate::session::History::trim) removes the oldest part of a longer conversation, and
/// [`History::compact`](crate::session::History::compact) puts a summary in its place. Both keep
///
/// - each call with its results, and each step of the model whole, with its signatures
/// - the first message of the user, which often is the task ([`without_first`](Self::without_first)
///   removes it like others)
/// - the user's message that is being answered, and the last step
/// - the note of the last handoff, which says which agent speaks
///
/// A turn begins with a message of the user. Notes of the application, for example about an
/// approval, begin none.
///
/// ```
/// use tool_core::session::{History, Keep, Message};
///
/// let mut history = History::new();
/// for day in ["Monday", "Tuesday", "Wednesday"] {
///     history.push(Message::user(format!("Is a table free on {day}?")));
///     history.push(Message::Assistant { text: Some("Yes.".into()), calls: Vec::new(), native: None });
/// }
///
/// let shortened = history.trim(&Keep::turns(1));
/// let left = history.messages().iter().map(|message| match message {
///     Message::User(said) => said.text().into_owned(),
///     _ => "the model".to_owned(),
/// });
/// assert_eq!(left.collect::<Vec<_>>(), ["Is a table free on Monday?", "Is a table free on Wednesday?", "the model"]);
/// assert_eq!(shortened.removed.len(), 3);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Keep {
    pub(crate) limit: KeepLimit,
    /// The share of the limit that a conversation which exceeds it is shortened to.
    pub(crate) down_to: f64,
    pub(crate) keeps_first: bool,
    /// The characters to which old results are shortened before messages are removed.
    pub(crate) result_chars: Option<usize>,
    pub(crate) window: Option<u64>,
    pub(crate) measured: Option<MeasuredTokens>,
    pub(crate) summary_words: u32,
    /// True if a summary takes the place of what is removed. It counts under the limit.
    pub(crate) has_summary: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum KeepLimit {
    Messages(usize),
    Turns(usize),
    Tokens(u64),
    Share(f64),
}

/// The tokens of a request, as a provider has counted them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct MeasuredTokens {
    pub(crate) total: u64,
    /// Those that are not of the history.
    pub(crate) besides: u64,
}

/// The size that is assumed for the context of a model that no table knows.
const UNKNOWN_WINDOW: u64 = 128_000;
/// The tokens that are kept free for each word of a summary. Most languages need fewer.
const TOKENS_OF_WORD: u64 = 3;
/// The tokens of the note that a summary is in.
const TOKENS_AROUND_SUMMARY: u64 = 60;
/// The tokens that a summary may have under any limit: about a sentence.
const TOKENS_OF_SHORTEST_SUMMARY: u64 = 30;

impl Keep {
    fn new(limit: KeepLimit, down_to: f64) -> Self {
        Self {
            limit,
            down_to,
            keeps_first: true,
            result_chars: None,
            window: None,
            measured: None,
            summary_words: 400,
            has_summary: false,
        }
    }

    /// Keeps at most so many messages: those of the user, steps of the model, and results.
    pub fn messages(count: usize) -> Self {
        Self::new(KeepLimit::Messages(count), 1.0)
    }

    /// Keeps at most so many turns, and the first message of the user.
    pub fn turns(count: usize) -> Self {
        Self::new(KeepLimit::Turns(count), 1.0)
    }

    /// Keeps at most so many tokens. They are estimated, where no provider has counted them: see [`measured`](Self::measured).
    pub fn tokens(count: u64) -> Self {
        Self::new(KeepLimit::Tokens(count), 1.0)
    }

    /// Keeps a conversation within a share of the model's context, for example 0.8. A conversation
    /// that exceeds it is shortened to half of that share: see [`down_to`](Self::down_to).
    ///
    /// The size of the context is that of [`window`](Self::window), or what the table of prices
    /// says of the model. It is taken for 128,000 tokens where neither knows it.
    pub fn share(share: f64) -> Self {
        let share = if share.is_finite() { share } else { 1.0 };
        Self::new(KeepLimit::Share(share.clamp(0.01, 1.0)), 0.5)
    }

    /// Sets the part of the limit to which a conversation that exceeds it is shortened. Defaults to
    /// all of it, and to half of a share.
    ///
    /// After each shortening, the provider reads the conversation anew instead of taking it from
    /// its cache. With a part of the limit this happens seldom.
    pub fn down_to(self, part: f64) -> Self {
        let part = if part.is_finite() { part } else { 1.0 };
        Self {
            down_to: part.clamp(0.0, 1.0),
            ..self
        }
    }

    /// Removes the first message of the user like any other.
    pub fn without_first(self) -> Self {
        Self {
            keeps_first: false,
            ..self
        }
    }

    /// Shortens old results to so many characters before messages are removed. Results of earlier
    /// turns come first; those of the last step stay whole. Images and sounds in a shortened result
    /// are left out.
    pub fn shorten_results(self, characters: usize) -> Self {
        Self {
            result_chars: Some(characters),
            ..self
        }
    }

    /// Sets the tokens that the model's context can hold.
    pub fn window(self, tokens: u64) -> Self {
        Self {
            window: Some(tokens),
            ..self
        }
    }

    /// Sets the tokens of the last request as the provider has counted them, and how many of them
    /// are not of the history: instructions and tools. Tokens are estimated otherwise. The agent
    /// loop measures them itself.
    pub fn measured(self, total: u64, besides: u64) -> Self {
        Self {
            measured: Some(MeasuredTokens { total, besides }),
            ..self
        }
    }

    /// Sets the number of words that a summary should have at most. Defaults to 400. A limit of
    /// tokens keeps 3 of them free for each word, but at most half of what the conversation is
    /// shortened to. A summary that takes more is cut.
    pub fn summary_words(self, words: u32) -> Self {
        Self {
            summary_words: words,
            ..self
        }
    }

    /// Sets the size of the context to that of a model, if no size is set: to that in the table of
    /// prices, and to 128,000 tokens for a model that the table does not know.
    pub fn window_of(self, provider: Option<&str>, model: &str) -> Self {
        let window = self.window.or_else(|| context_window(provider, model));
        Self { window, ..self }
    }

    /// Leaves room for the summary of what is removed.
    pub(crate) fn with_summary(self) -> Self {
        Self {
            has_summary: true,
            ..self
        }
    }

    /// Returns the messages that a summary takes.
    pub(crate) fn summary_messages(&self) -> u64 {
        u64::from(self.has_summary)
    }

    /// Returns the tokens that a summary takes at most, with those of the words around it.
    pub(crate) fn summary_tokens(&self) -> u64 {
        if !self.has_summary {
            return 0;
        }
        let tokens = TOKENS_AROUND_SUMMARY + self.wanted_tokens();
        match self.max_tokens() {
            // Messages need room under a small limit, too.
            Some(max) => tokens.min(self.target_tokens(max) / 2),
            None => tokens,
        }
    }

    /// Returns the tokens that the text of a summary may have.
    fn summary_text_tokens(&self) -> u64 {
        let tokens = self.summary_tokens().saturating_sub(TOKENS_AROUND_SUMMARY);
        tokens.max(TOKENS_OF_SHORTEST_SUMMARY.min(self.wanted_tokens()))
    }

    /// Returns the tokens that are free for the text of a summary, if the limit has room for them.
    fn wanted_tokens(&self) -> u64 {
        u64::from(self.summary_words) * TOKENS_OF_WORD
    }

    /// Returns the words that the model may use which sums up.
    pub(crate) fn max_summary_words(&self) -> u64 {
        self.summary_text_tokens() / TOKENS_OF_WORD
    }

    /// Returns the characters that a summary may have. A token is estimated to be four.
    pub(crate) fn summary_chars(&self) -> usize {
        let chars = self.summary_text_tokens() * 4;
        usize::try_from(chars).unwrap_or(usize::MAX)
    }

    /// Returns the tokens to which the history is shortened under a limit of tokens.
    pub(crate) fn target_tokens(&self, max: u64) -> u64 {
        let measured = self.measured.as_ref();
        let besides = measured.map_or(0, |measured| measured.besides.min(measured.total));
        part_of(max, self.down_to).saturating_sub(besides)
    }

    /// Returns the size of the context, or the one that is assumed.
    pub(crate) fn context(&self) -> u64 {
        self.window.unwrap_or(UNKNOWN_WINDOW)
    }

    /// Returns the maximum number of tokens, if the limit is one of tokens.
    pub(crate) fn max_tokens(&self) -> Option<u64> {
        match self.limit {
            KeepLimit::Tokens(count) => Some(count),
            KeepLimit::Share(share) => Some(part_of(self.context(), share)),
            KeepLimit::Messages(_) | KeepLimit::Turns(_) => None,
        }
    }
}

/// Returns a part of a number of tokens.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a context has less than 2^52 tokens, and the part is between 0 and 1"
)]
pub(crate) fn part_of(tokens: u64, part: f64) -> u64 {
    (tokens as f64 * part) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_one_of_the_context() {
        assert_eq!(Keep::share(0.5).window(10_000).max_tokens(), Some(5_000));
        assert_eq!(Keep::share(0.5).max_tokens(), Some(64_000));
        assert_eq!(Keep::share(7.0).window(10_000).max_tokens(), Some(10_000));
        assert_eq!(Keep::share(f64::NAN).window(10).max_tokens(), Some(10));
        assert_eq!(Keep::tokens(7).max_tokens(), Some(7));
        assert_eq!(Keep::turns(7).max_tokens(), None);
    }
}
