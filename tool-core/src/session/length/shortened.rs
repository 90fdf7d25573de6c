//! The outcome of shortening a conversation.

use crate::session::message::Message;
use crate::trace::TokenUsage;
use serde::{Deserialize, Serialize};

/// A conversation that was shortened: what was removed, and the summary in its place.
///
/// The host can still read what the model cannot, and store it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[non_exhaustive]
pub struct Shortened {
    /// The messages that were removed, oldest first.
    pub removed: Vec<Message>,
    /// The number of results that were shortened.
    pub shortened_results: usize,
    /// The summary of the messages that were removed. `None` if they were removed without one.
    pub summary: Option<String>,
    /// The reason why there is no summary, if one was wanted.
    pub summary_error: Option<String>,
    /// The tokens that the summary has used, or the attempt at one.
    pub usage: TokenUsage,
    /// The tokens of the history before. They are estimated, where no provider has counted them.
    pub tokens_before: u64,
    /// The tokens of the history that is left, estimated in the same way.
    pub tokens_after: u64,
}

impl Shortened {
    /// Returns true if the history was short enough, and is as it was.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.removed.is_empty() && self.shortened_results == 0
    }
}
