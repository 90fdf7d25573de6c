//! The names of tools at a provider, and the way back.

use foldhash::HashMap;
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::collections::HashSet;
use tool_core::text::hex;

/// The names that a provider accepts.
#[derive(Clone, Copy, Debug)]
pub struct NameRule {
    /// The characters besides ASCII letters, digits and `_`.
    pub punctuation: &'static str,
    /// True if a name may begin with any of its characters; false if it begins with a letter or
    /// `_`.
    pub any_first: bool,
    /// The most characters of a name.
    pub max_length: usize,
}

/// The length of `_` and eight hexadecimal digits.
const HASH_LENGTH: usize = 9;

impl NameRule {
    /// OpenAI's rule, which several other providers have too.
    pub(crate) const OPENAI: Self = Self {
        punctuation: "-",
        any_first: true,
        max_length: 64,
    };

    fn allows(self, letter: char) -> bool {
        letter.is_ascii_alphanumeric() || letter == '_' || self.punctuation.contains(letter)
    }

    fn allows_first(self, letter: char) -> bool {
        self.any_first || letter.is_ascii_alphabetic() || letter == '_'
    }

    /// Returns true for a name that the provider accepts.
    pub fn accepts(self, name: &str) -> bool {
        name.chars().all(|letter| self.allows(letter))
            && name
                .chars()
                .next()
                .is_some_and(|first| self.allows_first(first))
            && name.len() <= self.max_length
    }

    /// Returns the nearest accepted name, which depends on the name alone. A name that is too long
    /// ends in a hash.
    pub fn nearest(self, name: &str) -> Cow<'_, str> {
        if self.accepts(name) {
            return Cow::Borrowed(name);
        }
        let plain = self.plain(name);
        Cow::Owned(if plain.len() > self.max_length {
            self.hashed(name, 0)
        } else {
            plain
        })
    }

    /// Returns true if a tool may have this name at the provider, whatever other tools there are.
    pub fn may_name(self, tool: &str, wire: &str) -> bool {
        if wire == tool || wire == self.nearest(tool) {
            return true;
        }
        let hashed = self.hashed(tool, 0);
        let start = hashed.len() - HASH_LENGTH + 1;
        let Some((name, hash)) = wire.split_at_checked(start) else {
            return false;
        };
        hashed.starts_with(name)
            && hash.len() == HASH_LENGTH - 1
            && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
    }

    /// Replaces characters that the provider does not accept by `_`.
    fn plain(self, name: &str) -> String {
        let first = name
            .chars()
            .next()
            .filter(|first| self.allows_first(*first) || !self.allows(*first));
        let prefix = if first.is_some() { "" } else { "_" };
        prefix
            .chars()
            .chain(
                name.chars()
                    .map(|letter| if self.allows(letter) { letter } else { '_' }),
            )
            .collect()
    }

    /// Returns the name, cut if it is too long, with a hash of the whole name.
    fn hashed(self, name: &str, attempt: u32) -> String {
        let mut wire = self.plain(name);
        wire.truncate(self.max_length - HASH_LENGTH);
        let mut hash = Sha256::new_with_prefix(name.as_bytes());
        if attempt > 0 {
            hash.update(attempt.to_be_bytes());
        }
        wire.push('_');
        wire.push_str(&hex(hash.finalize().get(..4).unwrap_or_default()));
        wire
    }
}

/// The names of declared tools in both directions.
#[derive(Default)]
pub struct DeclaredNames {
    wire: HashMap<String, String>,
    tools: HashMap<String, (usize, String)>,
}

impl DeclaredNames {
    /// Names tools, given by index and name. `reserved` are the names of provider tools.
    ///
    /// A name that the provider accepts stays. Other names that would become the same, or one that
    /// stays, end in a hash. The order of the tools makes no difference.
    pub fn new<'a>(
        rule: NameRule,
        tools: impl Iterator<Item = (usize, &'a str)>,
        reserved: &HashSet<String>,
    ) -> Self {
        let mut names = Self::default();
        let mut changed: HashMap<Cow<'a, str>, Vec<(usize, &'a str)>> = HashMap::default();
        for (index, tool) in tools {
            if rule.accepts(tool) && !reserved.contains(tool) {
                names.insert(index, tool, tool.to_owned());
            } else {
                changed
                    .entry(rule.nearest(tool))
                    .or_default()
                    .push((index, tool));
            }
        }
        let mut ambiguous = Vec::new();
        for (wire, tools) in changed {
            match tools.as_slice() {
                [(index, tool)]
                    if !reserved.contains(&*wire) && !names.tools.contains_key(&*wire) =>
                {
                    names.insert(*index, tool, wire.into_owned());
                }
                _ => ambiguous.extend(tools),
            }
        }
        ambiguous.sort_unstable_by_key(|(_, tool)| *tool);
        for (index, tool) in ambiguous {
            let is_free =
                |wire: &String| !reserved.contains(wire) && !names.tools.contains_key(wire);
            if let Some(wire) = (0..=u32::MAX)
                .map(|attempt| rule.hashed(tool, attempt))
                .find(is_free)
            {
                names.insert(index, tool, wire);
            }
        }
        names
    }

    pub(crate) fn insert(&mut self, index: usize, tool: &str, wire: String) {
        self.wire.insert(tool.to_owned(), wire.clone());
        self.tools.insert(wire, (index, tool.to_owned()));
    }

    /// Returns the name of a tool at the provider.
    pub fn wire(&self, tool: &str) -> Option<&str> {
        self.wire.get(tool).map(String::as_str)
    }

    /// Returns the tool that has this name at the provider.
    pub(crate) fn tool(&self, wire: &str) -> Option<&str> {
        self.tools.get(wire).map(|(_, name)| name.as_str())
    }

    /// Returns the index of the tool that has this name at the provider.
    pub(crate) fn index(&self, wire: &str) -> Option<usize> {
        self.tools.get(wire).map(|(index, _)| *index)
    }
}
