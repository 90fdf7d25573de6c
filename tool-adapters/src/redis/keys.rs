//! Where a session lies.

/// The keys of a session, as the scripts take them. All have the same hash tag, so that a cluster keeps them together.
pub(super) struct Keys([String; 8]);

impl Keys {
    pub(super) fn new(prefix: &str, id: &str) -> Self {
        let tag = format!("{{{}:{}}}", escaped(prefix, ""), escaped(id, ":"));
        let parts = ["session", "turn", "state", "audit", "pending", "waiting", "young", "old"];
        Self(parts.map(|part| format!("{tag}:{part}")))
    }

    /// Where the session itself is; without it, there is none.
    pub(super) fn session(&self) -> &str {
        let [session, ..] = &self.0;
        session
    }

    pub(super) fn all(&self) -> &[String] {
        &self.0
    }
}

/// The key of the places that open sessions take, which is in a slot of its own.
pub(super) fn places(prefix: &str) -> String {
    format!("{{{}}}:places", escaped(prefix, ""))
}

/// A text without braces, which would end the hash tag early, and without `also`, which would let two sessions of
/// different prefixes have the same key.
fn escaped(text: &str, also: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '{' => escaped.push_str("%7B"),
            '}' => escaped.push_str("%7D"),
            '%' => escaped.push_str("%25"),
            ':' if also.contains(':') => escaped.push_str("%3A"),
            letter => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_keys_of_a_session_have_one_hash_tag_whatever_its_id() {
        for id in ["a", "", "}", "a}b{c", "{x}", "a:b", "\u{0}"] {
            let keys = Keys::new("app:prod", id);
            let tags = keys.all().iter().map(|key| key.split('}').next()).collect::<Vec<_>>();
            assert!(tags.iter().all(|tag| *tag == tags[0] && tag.is_some_and(|tag| tag.len() > 1)), "{tags:?}");
        }
    }

    #[test]
    fn no_two_sessions_have_the_same_key() {
        let pairs = [("a", "b:c"), ("a:b", "c"), ("a", "b%3Ac"), ("a", "b}"), ("a", "b%7D"), ("a}", "b"), ("", "a:b")];
        let mut keys = pairs.map(|(prefix, id)| Keys::new(prefix, id).session().to_owned()).to_vec();
        keys.extend(["a", "a:b", "a}", ""].map(places));
        keys.sort();
        let all = keys.len();
        keys.dedup();
        assert_eq!(keys.len(), all);
    }
}
