//! The ids of calls: ours, which are unique, and the provider's.

use crate::providers::event::ProtocolError;
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use tool_core::text::hex;

/// Our ids, and what the provider calls them; for as long as the protocol lives.
#[derive(Debug, Default)]
pub(crate) struct Ids {
    known: BTreeMap<String, Wire>,
    fresh: usize,
    /// How often an id came again, so that the next free one is found at once.
    repeats: HashMap<String, usize>,
}

/// A call, as the provider knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wire {
    /// The id that the provider gave; empty where it gave none.
    pub(crate) id: String,
    /// The tool's name at the provider.
    pub(crate) name: String,
    /// A kind of call that is answered in another form than a function's; empty for functions.
    pub(crate) kind: &'static str,
}

impl Ids {
    /// Our id for a call: the provider's where it gave one that is new, otherwise a fresh one.
    pub(crate) fn assign(&mut self, wire: Wire) -> (String, Option<ProtocolError>) {
        if !wire.id.is_empty()
            && let Entry::Vacant(place) = self.known.entry(wire.id.clone())
        {
            let id = place.key().clone();
            place.insert(wire);
            return (id, None);
        }
        let (id, error) = match wire.id.as_str() {
            "" => (self.fresh(), None),
            id => (self.repeated(id), Some(ProtocolError::DuplicateId { id: id.to_owned() })),
        };
        self.known.insert(id.clone(), wire);
        (id, error)
    }

    fn fresh(&mut self) -> String {
        loop {
            let id = format!("call_{}", self.fresh);
            self.fresh += 1;
            if !self.known.contains_key(&id) {
                return id;
            }
        }
    }

    fn repeated(&mut self, id: &str) -> String {
        let repeats = self.repeats.entry(id.to_owned()).or_insert(1);
        loop {
            *repeats += 1;
            let other = format!("{id}_{repeats}");
            if !self.known.contains_key(&other) {
                return other;
            }
        }
    }

    /// What the provider calls a call; `None` where it made no such call.
    pub(crate) fn wire(&self, id: &str) -> Option<&Wire> {
        self.known.get(id)
    }
}

/// An id of at most 64 characters: what OpenAI takes.
pub(crate) fn openai(id: &str) -> Cow<'_, str> {
    conforming(id, |_| true)
}

/// `[a-zA-Z0-9_-]{1,64}`: what Anthropic takes.
pub(crate) fn anthropic(id: &str) -> Cow<'_, str> {
    conforming(id, |char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-'))
}

/// `[a-zA-Z0-9_.:-]{1,64}`: what Bedrock takes. Its models take less, so it is not written by this.
#[cfg(test)]
pub(crate) fn bedrock(id: &str) -> Cow<'_, str> {
    conforming(id, |char| char.is_ascii_alphanumeric() || matches!(char, '_' | '.' | ':' | '-'))
}

/// `[a-zA-Z0-9]{9}`: what Mistral takes.
pub(crate) fn mistral(id: &str) -> Cow<'_, str> {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    if id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Cow::Borrowed(id);
    }
    let digits = Sha256::digest(id).into_iter().take(9).map(|byte| {
        let digit = DIGITS.get(usize::from(byte) % DIGITS.len());
        char::from(digit.copied().unwrap_or(b'0'))
    });
    Cow::Owned(digits.collect())
}

/// The id where it conforms, and otherwise one that is made of it alone, so that a call and its result agree.
fn conforming(id: &str, allowed: fn(char) -> bool) -> Cow<'_, str> {
    if !id.is_empty() && id.chars().count() <= 64 && id.chars().all(allowed) {
        return Cow::Borrowed(id);
    }
    Cow::Owned(format!("call_{}", hex(Sha256::digest(id).get(..16).unwrap_or_default())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(ids: &mut Ids, id: &str) -> String {
        ids.assign(Wire { id: id.into(), name: "add".into(), kind: "" }).0
    }

    #[test]
    fn an_id_that_is_absent_or_not_new_is_replaced() {
        let mut ids = Ids::default();
        let ours = ["call_1", "", "a", "", "a", "a", "a_2"].map(|id| given(&mut ids, id));
        assert_eq!(ours, ["call_1", "call_0", "a", "call_2", "a_2", "a_3", "a_2_2"]);
        assert_eq!(ids.wire("a_3").map(|wire| &*wire.id), Some("a"));
        assert_eq!(ids.wire("call_0").map(|wire| &*wire.id), Some(""));
    }

    #[test]
    fn an_id_that_came_before_is_an_error() {
        let mut ids = Ids::default();
        let wire = Wire { id: "a".into(), ..Wire::default() };
        assert_eq!(ids.assign(wire.clone()).1, None);
        assert_eq!(ids.assign(wire).1, Some(ProtocolError::DuplicateId { id: "a".into() }));
    }

    #[test]
    fn ids_that_a_provider_takes_stay() {
        let long = "x".repeat(64);
        for id in ["call_1", "fc:ä b", &long] {
            assert_eq!(openai(id), id);
        }
        assert_eq!((mistral("D681PevKs"), anthropic("toolu_0-1"), bedrock("a.b:c-1")), {
            ("D681PevKs".into(), "toolu_0-1".into(), "a.b:c-1".into())
        });
    }

    #[test]
    fn ids_that_a_provider_refuses_become_others_by_themselves_alone() {
        let long = "x".repeat(65);
        for id in ["", "a b", "ä", &long, "call_1"] {
            let made = mistral(id);
            assert!(made.len() == 9 && made.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{made}");
            assert_eq!(made, mistral(id));
        }
        for id in ["", "a b", "ä", &long] {
            let made = anthropic(id);
            assert!(made.len() == 37 && made.starts_with("call_"), "{made}");
            assert_eq!(made, bedrock(id));
            assert_eq!(anthropic(&made), made, "what it makes conforms");
        }
        assert_ne!(mistral("call_1"), mistral("call_2"));
    }
}
