//! A step of a model in its provider's own form.

use crate::json::nested::{MAX_STORED_DEPTH, is_deeper, unless_deeper};
use crate::tool::ProviderId;
use serde::ser::Error;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

/// A model's step as its provider sent it, with what the text and the calls do not say, for example
/// signatures of its thoughts. It is sent back to the same provider; other providers get the text
/// and the calls. A turn with an item that nests deeper than 100 is left out of the history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RawTurn {
    /// The provider whose format it is.
    pub provider: ProviderId,
    /// The items, in order. Calls among them are the step's calls, in the same order.
    #[serde(serialize_with = "serialize_items")]
    pub items: Vec<Value>,
}

impl RawTurn {
    /// Returns the turn, unless one of its items nests deeper than 100.
    pub(crate) fn unless_too_deep(self) -> Option<Self> {
        let count = self.items.len();
        // Each item is taken, as dropping the rest would recurse.
        let items = self
            .items
            .into_iter()
            .filter_map(|item| unless_deeper(item, MAX_STORED_DEPTH))
            .collect::<Vec<_>>();
        (items.len() == count).then_some(Self { items, ..self })
    }

    /// Returns false if an item nests deeper than a store can follow.
    pub(crate) fn is_storable(&self) -> bool {
        let is_too_deep = |item: &Value| is_deeper(item, MAX_STORED_DEPTH);
        !self.items.iter().any(is_too_deep)
    }
}

/// Writes items, unless one is so deep that writing it would end the process.
fn serialize_items<S: Serializer>(items: &[Value], serializer: S) -> Result<S::Ok, S::Error> {
    let is_too_deep = |item: &Value| is_deeper(item, MAX_STORED_DEPTH);
    if items.iter().any(is_too_deep) {
        return Err(S::Error::custom(
            "expected items of at most 100 nested levels",
        ));
    }
    items.serialize(serializer)
}
