//! Removing the oldest part of a conversation.

use crate::session::history::History;
use crate::session::length::keep::{Keep, MeasuredTokens, part_of};
use crate::session::length::plan::{KeptMessages, Outline};
use crate::session::length::results::shorten_results;
use crate::session::length::shortened::Shortened;
use crate::session::message::Message;
use std::ops::Range;

impl History {
    /// Removes the oldest part of a history that is longer than it should be. Returns what was
    /// removed.
    ///
    /// ```
    /// use tool_core::session::{History, Keep, Message};
    ///
    /// let mut history = History::new();
    /// history.extend((0..100).map(|number| Message::user(format!("Message {number}"))));
    /// let shortened = history.trim(&Keep::messages(20));
    /// assert_eq!(history.messages().len(), 20);
    /// assert_eq!(shortened.removed.len(), 80);
    /// assert_eq!(history.messages()[0], Message::user("Message 0"));
    /// ```
    pub fn trim(&mut self, keep: &Keep) -> Shortened {
        let scale = TokenScale::new(self, keep);
        let mut shortened = Shortened::default();
        let kept = fit(self, keep, scale, &mut shortened);
        if !kept.is_all() {
            shortened.removed = remove(self, &kept, None);
        }
        shortened.tokens_after = scale.tokens_of(self.messages());
        shortened
    }
}

/// Shortens old results of a history that is too long, and plans what else is removed.
pub(crate) fn fit(
    history: &mut History,
    keep: &Keep,
    scale: TokenScale,
    shortened: &mut Shortened,
) -> KeptMessages {
    let outline = Outline::new(history.messages());
    shortened.tokens_before = scale.tokens_of(history.messages());
    let mut kept = plan(history, keep, &outline, scale);
    let Some(max_chars) = keep.result_chars else {
        return kept;
    };

    let mut shorten = |history: &mut History, range: Range<usize>| {
        let count = shorten_results(history.messages_mut(), range, max_chars);
        shortened.shortened_results += count;
        count > 0
    };
    // Results of earlier turns first, then those of the current one but for its last step.
    let last_turn = outline.last_turn();
    if !kept.is_all() && shorten(history, 0..last_turn) {
        kept = plan(history, keep, &outline, scale);
    }
    if kept.from > last_turn && shorten(history, last_turn..outline.last_cut()) {
        kept = plan(history, keep, &outline, scale);
    }
    kept
}

/// Plans what is kept of a history.
fn plan(history: &History, keep: &Keep, outline: &Outline, scale: TokenScale) -> KeptMessages {
    let all = KeptMessages {
        first: None,
        prompt: None,
        handoff: None,
        from: 0,
    };
    let Some(max) = keep.max_tokens() else {
        let target = outline.target_count(keep);
        return target.map_or(all, |max| {
            outline.longest_within(keep, max, &outline.counts(keep))
        });
    };

    let messages = history.messages();
    let total = scale.besides.saturating_add(scale.tokens_of(messages));
    if total <= max {
        return all;
    }
    let target = keep
        .target_tokens(max)
        .saturating_sub(keep.summary_tokens());
    let amounts = messages.iter().map(|message| scale.tokens_in(message));
    outline.longest_within(keep, target, &amounts.collect())
}

/// Removes what is not kept, and puts a message in its place. Returns what was removed.
pub(crate) fn remove(
    history: &mut History,
    kept: &KeptMessages,
    mut summary: Option<Message>,
) -> Vec<Message> {
    let mut removed = Vec::new();
    let mut left = Vec::new();
    // The summary is of what came before these, mostly.
    let mut behind_summary = Vec::new();
    for (place, message) in history.take_messages().into_iter().enumerate() {
        if place == kept.from {
            left.extend(summary.take());
            left.append(&mut behind_summary);
        }
        if !kept.has(place) {
            removed.push(message);
        } else if place < kept.from && kept.first != Some(place) {
            behind_summary.push(message);
        } else {
            left.push(message);
        }
    }
    history.extend(left);
    history.note_removed(&removed);
    removed
}

/// The tokens of messages: estimates, in the proportion of what a provider has counted.
#[derive(Clone, Copy)]
pub(crate) struct TokenScale {
    /// The tokens of a request that are not of the history.
    besides: u64,
    /// Counted tokens for each estimated one.
    factor: f64,
}

impl TokenScale {
    pub(crate) fn new(history: &History, keep: &Keep) -> Self {
        let Some(MeasuredTokens { total, besides }) = keep.measured else {
            return Self {
                besides: 0,
                factor: 1.0,
            };
        };
        let estimated = history.estimated_tokens().max(1);
        Self {
            besides: besides.min(total),
            factor: ratio(total.saturating_sub(besides), estimated).max(0.25),
        }
    }

    fn tokens_in(self, message: &Message) -> u64 {
        part_of(message.estimated_tokens(), self.factor)
    }

    pub(crate) fn tokens_of(self, messages: &[Message]) -> u64 {
        messages.iter().map(|message| self.tokens_in(message)).sum()
    }
}

#[allow(
    clippy::cast_precision_loss,
    reason = "a context has less than 2^52 tokens"
)]
fn ratio(counted: u64, estimated: u64) -> f64 {
    counted as f64 / estimated as f64
}
