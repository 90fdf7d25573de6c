//! A step of a model in its provider's own form.

use crate::json::nested::unless_too_deep;
use crate::tool::ProviderId;
use serde_json::Value;

/// A model's step as its provider sent it, with what the text and the calls do not say, for example signatures of its thoughts.
/// It is sent back to the same provider; other providers get the text and the calls. A turn with an item that nests deeper
/// than 128 is left out of the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawTurn {
    /// The provider whose format it is.
    pub provider: ProviderId,
    /// The items, in order. Calls among them are the step's calls, in the same order.
    pub items: Vec<Value>,
}

impl RawTurn {
    /// Returns the turn, unless one of its items nests deeper than 128.
    pub(crate) fn unless_too_deep(self) -> Option<Self> {
        let count = self.items.len();
        // Each item is taken, as dropping the rest would recurse.
        let items = self
            .items
            .into_iter()
            .filter_map(unless_too_deep)
            .collect::<Vec<_>>();
        (items.len() == count).then_some(Self { items, ..self })
    }
}
