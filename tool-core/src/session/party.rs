//! The parties whose calls share limits.

use crate::text::hex;
use sha2::{Digest, Sha256};

/// One tool, upstream or principal with limits.
///
/// Limits of several kinds differ here, by the kind of their party, and nowhere else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Party<'a> {
    Tool(&'a str),
    Upstream(&'a str),
    Principal(&'a str),
}

/// The longest part of a key that is kept as it is, in bytes.
const MAX_KEY: usize = 128;

impl<'a> Party<'a> {
    /// Returns the kind of the party, as a word of keys and metrics.
    pub(crate) fn kind(self) -> &'static str {
        match self {
            Self::Tool(_) => "tool",
            Self::Upstream(_) => "upstream",
            Self::Principal(_) => "principal",
        }
    }

    pub(crate) fn name(self) -> &'a str {
        match self {
            Self::Tool(name) | Self::Upstream(name) | Self::Principal(name) => name,
        }
    }

    /// Returns the words by which the model knows the party.
    pub(crate) fn words(self) -> String {
        match self {
            Self::Tool(name) => format!("`{name}`"),
            Self::Upstream(name) => format!("the tools of `{name}`"),
            // The model need not learn how the host names its user.
            Self::Principal(_) => "this user".to_owned(),
        }
    }

    /// Returns so many calls of the party, as refusals of limits name them to the model.
    pub(crate) fn calls(self, number: u32) -> String {
        let words = self.words();
        let calls = if number == 1 { "call" } else { "calls" };
        match self {
            Self::Tool(_) | Self::Upstream(_) => format!("{number} {calls} of {words}"),
            Self::Principal(_) => format!("{number} {calls} for {words}"),
        }
    }

    /// Returns the words by which the model knows the party as one that does not work.
    pub(crate) fn failing(self) -> String {
        match self {
            Self::Upstream(name) => format!("the service `{name}`"),
            Self::Tool(_) | Self::Principal(_) => self.words(),
        }
    }

    /// Returns the key under which a store counts the party's calls. Databases index no long text,
    /// so that of a long name is a digest.
    pub(crate) fn key(self) -> String {
        let kind = self.kind();
        let name = self.name();
        if name.len() <= MAX_KEY {
            return format!("{kind}:{name}");
        }
        let digest = hex(Sha256::digest(name).as_slice());
        format!("{kind}#{digest}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_call_is_named_as_one() {
        assert_eq!(Party::Tool("a").calls(1), "1 call of `a`");
        assert_eq!(Party::Principal("a").calls(2), "2 calls for this user");
    }

    #[test]
    fn keys_of_long_names_are_short_and_distinct() {
        let long = ["a".repeat(4_000), "b".repeat(4_000)];
        let keys = long.each_ref().map(|name| Party::Principal(name).key());
        assert!(keys[0] != keys[1] && keys.iter().all(|key| key.len() <= 160));
        assert_ne!(Party::Tool("a").key(), Party::Upstream("a").key());
    }
}
