//! The names of keys. What a script changes together has one hash tag, and so one slot of a
//! cluster.
//!
//! | tag | keys |
//! |---|---|
//! | `tools{session:ID}` | a session: its counts, state, audit log, calls, approvals and grants |
//! | `tools{sessions}` | the open sessions, as many as the policy allows |
//! | `tools{principal:P}` | what a principal has spent, and the list of its calls that wait |
//! | `tools{limit:KEY}` | a limit that all sessions share |
//! | `tools{conversations:N}` | the conversations of the principals whose digest begins with N |
//! | `tools{journal:DIGEST}` | the journal of a session |
//! | `tools{process:ID}` | the sign of life of a process with a journal |
//!
//! If one operation needs two tags, the order of the two steps makes a crash between them
//! harmless:
//!
//! - **A session opens.** It takes its place among the open sessions first, for a short time. A
//!   place without a session is free again after that time. A session frees its place after it has
//!   ended; a place that stays is found by the next process that looks for free ones.
//! - **A call waits for approval.** It is listed first, and kept in its session then. Readers of
//!   the list look into the session. An entry without a call is not shown, and goes with its
//!   lifetime.
//! - **A call has cost something.** Principal and session are charged side by side, each once for
//!   the id of the amount, however often it is sent.
//! - **A call asks for several permits.** They are taken one after the other in the order of their
//!   names, and given back if one is refused. A crash leaves a place until its lease ends, and a
//!   call of a rate.
//! - **A process lives.** Each process renews its own key. Others read it after they have found a
//!   call that has no end, and take a call over only if its number has not changed.

use sha2::{Digest, Sha256};

/// Makes the keys of one store.
#[derive(Clone, Debug)]
pub(crate) struct KeySpace {
    /// The prefix as the user has given it.
    pub(crate) prefix: String,
    /// The prefix without braces.
    escaped: String,
}

impl KeySpace {
    pub(crate) fn new(prefix: &str) -> Self {
        Self {
            prefix: prefix.to_owned(),
            escaped: escaped(prefix),
        }
    }

    /// Returns what all keys of one thing begin with. A kind has no colon.
    fn tagged(&self, kind: &str, name: &str) -> String {
        format!("{}{{{kind}:{}}}", self.escaped, escaped(name))
    }

    /// Returns the beginning of a session's keys.
    pub(crate) fn session(&self, id: &str) -> String {
        self.tagged("session", id)
    }

    /// Returns the key of the places of open sessions.
    pub(crate) fn open_sessions(&self) -> String {
        format!("{}{{sessions}}:slots", self.escaped)
    }

    /// Returns the beginning of a principal's keys.
    pub(crate) fn principal(&self, principal: &str) -> String {
        self.tagged("principal", principal)
    }

    /// Returns the key of a principal's calls that wait for approval.
    pub(crate) fn asked(&self, principal: &str) -> String {
        format!("{}:asked", self.principal(principal))
    }

    /// Returns the beginning of the keys of a limit that all sessions share.
    pub(crate) fn limit(&self, key: &str) -> String {
        self.tagged("limit", key)
    }

    /// Returns the beginning of the keys of all conversations of a bucket.
    pub(crate) fn conversations(&self, bucket: u8) -> String {
        self.tagged("conversations", &bucket.to_string())
    }

    /// Returns the beginning of a journal's keys, given the digest of the session's name.
    pub(crate) fn journal(&self, session_digest: &str) -> String {
        self.tagged("journal", session_digest)
    }

    /// Returns the key that exists while a process lives.
    pub(crate) fn process(&self, process: &str) -> String {
        format!("{}:alive", self.tagged("process", process))
    }

    /// Returns what all keys of the earlier layout begin with.
    pub(crate) fn earlier(&self) -> String {
        format!("{{{}}}", self.escaped)
    }
}

/// Returns the bucket of a principal's conversations. The number of buckets is part of the layout:
/// with another one, no conversation would be found.
pub(crate) fn conversation_bucket(principal: &str) -> u8 {
    let digest: [u8; 32] = Sha256::digest(principal.as_bytes()).into();
    digest[0]
}

/// Escapes braces, which would end the hash tag early. The percent sign is escaped too, so that no
/// two texts become equal.
fn escaped(text: &str) -> String {
    text.replace('%', "%25")
        .replace('{', "%7B")
        .replace('}', "%7D")
}

/// Escapes a text that is one part of a key.
pub(crate) fn part(text: &str) -> String {
    escaped(text).replace(':', "%3A")
}

/// Undoes [`part`].
pub(crate) fn original(part: &str) -> String {
    part.replace("%3A", ":")
        .replace("%7D", "}")
        .replace("%7B", "{")
        .replace("%25", "%")
}

/// Returns the member of a session among the open ones.
pub(crate) fn slot_member(incarnation: &str, id: &str) -> String {
    format!("{incarnation}{id}")
}

/// Splits a text into the incarnation, which has 32 hexadecimal digits, and what follows it.
pub(crate) fn split_incarnation(text: &str) -> (&str, &str) {
    text.split_at_checked(32).unwrap_or((text, ""))
}

#[cfg(test)]
mod tests {
    use super::{KeySpace, original, part};

    const NAMES: [&str; 8] = ["a", "", "}", "a}b{c", "{x}", "a:b", "\u{0}", "%7D"];

    /// Returns what a cluster hashes of a key.
    fn tag(key: &str) -> &str {
        let (_, from_brace) = key.split_once('{').expect("an opening brace");
        let (tag, _) = from_brace.split_once('}').expect("a closing brace");
        tag
    }

    #[test]
    fn every_key_has_a_hash_tag_of_its_own() {
        let mut tags = Vec::new();
        for prefix in ["app:prod", "", "{", "a}b"] {
            let keys = KeySpace::new(prefix);
            for name in NAMES {
                tags.push(tag(&keys.session(name)).to_owned());
                tags.push(tag(&keys.principal(name)).to_owned());
                tags.push(tag(&keys.limit(name)).to_owned());
                tags.push(tag(&keys.process(name)).to_owned());
            }
            assert!(tags.iter().all(|tag| !tag.is_empty()), "{tags:?}");
            let all = tags.len();
            tags.sort();
            tags.dedup();
            assert_eq!(tags.len(), all, "{prefix}");
            tags.clear();
        }
    }

    #[test]
    fn no_two_sessions_have_the_same_key() {
        let pairs = [
            ("a", "b:c"),
            ("a:b", "c"),
            ("a", "b%3Ac"),
            ("a", "b}"),
            ("a", "b%7D"),
            ("a}", "b"),
            ("", "a:b"),
            ("a{session:b}", ""),
        ];
        let mut keys = pairs
            .map(|(prefix, id)| KeySpace::new(prefix).session(id))
            .to_vec();
        keys.extend(["a", "a:b", "a}", ""].map(|prefix| KeySpace::new(prefix).open_sessions()));
        keys.sort();
        let all = keys.len();
        keys.dedup();
        assert_eq!(keys.len(), all);
    }

    #[test]
    fn escaped_part_of_a_key_is_found_again() {
        for name in NAMES {
            assert_eq!(original(&part(name)), name);
        }
    }
}
