//! The ids of calls: ours, which are unique, and the provider's.

use crate::providers::event::ProtocolError;
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use tool_core::text::hex;

/// The calls of a conversation by our ids. Kept as long as the protocol.
#[derive(Debug, Default)]
pub(crate) struct CallIds {
    calls: BTreeMap<String, WireCall>,
    fresh: usize,
    /// The number of the last id that was made of a repeated one.
    repeats: HashMap<String, usize>,
    withdrawn: HashSet<String>,
}

/// A call as the provider knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct WireCall {
    /// The id that the provider gave; empty if it gave none.
    pub(crate) id: String,
    /// The tool's name at the provider.
    pub(crate) name: String,
    /// A kind of call that is answered in a form of its own; empty for functions.
    pub(crate) kind: &'static str,
}

impl CallIds {
    /// Returns our id for a call: the provider's if it is new, otherwise another one.
    pub(crate) fn assign(&mut self, call: WireCall) -> (String, Option<ProtocolError>) {
        if !call.id.is_empty()
            && let Entry::Vacant(entry) = self.calls.entry(call.id.clone())
        {
            let id = entry.key().clone();
            entry.insert(call);
            return (id, None);
        }
        let (id, error) = match call.id.as_str() {
            "" => (self.fresh(), None),
            id => (self.repeated(id), Some(ProtocolError::DuplicateId { id: id.to_owned() })),
        };
        self.calls.insert(id.clone(), call);
        (id, error)
    }

    fn fresh(&mut self) -> String {
        loop {
            let id = format!("call_{}", self.fresh);
            self.fresh += 1;
            if !self.calls.contains_key(&id) {
                return id;
            }
        }
    }

    fn repeated(&mut self, id: &str) -> String {
        let repeats = self.repeats.entry(id.to_owned()).or_insert(1);
        loop {
            *repeats += 1;
            let other = format!("{id}_{repeats}");
            if !self.calls.contains_key(&other) {
                return other;
            }
        }
    }

    /// Returns the call of our id.
    pub(crate) fn get(&self, id: &str) -> Option<&WireCall> {
        self.calls.get(id)
    }

    /// Returns our id of the latest call that the provider gave an id.
    pub(crate) fn latest(&self, wire_id: &str) -> Option<String> {
        let ours = match self.repeats.get(wire_id) {
            Some(number) => format!("{wire_id}_{number}"),
            None => wire_id.to_owned(),
        };
        self.calls.get(&ours).is_some_and(|call| call.id == wire_id).then_some(ours)
    }

    /// Returns our id of a call that has this id and this kind.
    pub(crate) fn of_kind(&self, wire_id: &str, kind: &str) -> Option<&str> {
        let same = |call: &WireCall| call.id == wire_id && call.kind == kind;
        let direct = self.calls.get_key_value(wire_id).filter(|(_, call)| same(call));
        direct.or_else(|| self.calls.iter().find(|(_, call)| same(call))).map(|(ours, _)| ours.as_str())
    }

    /// Notes that the provider has withdrawn a call.
    pub(crate) fn withdraw(&mut self, id: &str) {
        if self.calls.contains_key(id) {
            self.withdrawn.insert(id.to_owned());
        }
    }

    /// Returns true for a call that the provider has withdrawn.
    pub(crate) fn is_withdrawn(&self, id: &str) -> bool {
        self.withdrawn.contains(id)
    }
}

/// Returns an id of at most 64 characters.
pub(crate) fn short_id(id: &str) -> Cow<'_, str> {
    conforming(id, |_| true)
}

/// Returns an id of the form `[a-zA-Z0-9_-]{1,64}`.
pub(crate) fn word_id(id: &str) -> Cow<'_, str> {
    conforming(id, |char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-'))
}

/// Returns the id if it conforms, and otherwise one that depends on it alone, so that a call and its result agree.
fn conforming(id: &str, allowed: fn(char) -> bool) -> Cow<'_, str> {
    if !id.is_empty() && id.chars().count() <= 64 && id.chars().all(allowed) {
        return Cow::Borrowed(id);
    }
    Cow::Owned(format!("call_{}", hex(Sha256::digest(id).get(..16).unwrap_or_default())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assigned(ids: &mut CallIds, id: &str) -> String {
        ids.assign(WireCall { id: id.into(), name: "add".into(), kind: "" }).0
    }

    #[test]
    fn replaces_an_id_that_is_absent_or_repeated() {
        let mut ids = CallIds::default();
        let ours = ["call_1", "", "a", "", "a", "a", "a_2"].map(|id| assigned(&mut ids, id));
        assert_eq!(ours, ["call_1", "call_0", "a", "call_2", "a_2", "a_3", "a_2_2"]);
        assert_eq!(ids.get("a_3").map(|call| &*call.id), Some("a"));
        assert_eq!(ids.get("call_0").map(|call| &*call.id), Some(""));
        assert_eq!(
            (ids.latest("a"), ids.latest("a_2"), ids.latest("b")),
            (Some("a_3".into()), Some("a_2_2".into()), None)
        );
    }

    #[test]
    fn reports_a_repeated_id() {
        let mut ids = CallIds::default();
        let call = WireCall { id: "a".into(), ..WireCall::default() };
        assert_eq!(ids.assign(call.clone()).1, None);
        assert_eq!(ids.assign(call).1, Some(ProtocolError::DuplicateId { id: "a".into() }));
    }

    #[test]
    fn keeps_ids_that_a_provider_accepts() {
        let long = "x".repeat(64);
        for id in ["call_1", "fc:ä b", &long] {
            assert_eq!(short_id(id), id);
        }
        assert_eq!(word_id("toolu_0-1"), "toolu_0-1");
    }

    #[test]
    fn replaces_ids_that_a_provider_refuses_by_the_id_alone() {
        let long = "x".repeat(65);
        for id in ["", "a b", "ä", &long] {
            let made = word_id(id);
            assert!(made.len() == 37 && made.starts_with("call_"), "{made}");
            assert_eq!(made, conforming(id, |char| char.is_ascii_alphanumeric() || "_.:-".contains(char)), "{id}");
            assert_eq!(word_id(&made), made, "what it makes conforms");
        }
    }
}
