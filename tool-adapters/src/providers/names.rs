//! The names that a provider knows the tools by, and back.

use crate::providers::provider::Provider;
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use tool_core::text::hex;

/// What a provider takes as a name.
#[derive(Clone, Copy)]
pub(crate) struct NameRule {
    /// What may stand in it besides ASCII letters, digits and `_`.
    others: &'static str,
    /// Whether it may begin with something else than a letter or `_`.
    any_first: bool,
    longest: usize,
}

/// `_` and eight hexadecimal digits.
const SUFFIX: usize = 9;

impl NameRule {
    pub(crate) const fn of(provider: Provider) -> Self {
        let (others, any_first, longest) = match provider {
            Provider::OpenAiChat
            | Provider::OpenAiResponses
            | Provider::OpenAiRealtime
            | Provider::Bedrock
            | Provider::Mistral => ("-", true, 64),
            // Ollama's server takes any name; the templates of its models were not trained on every character.
            Provider::Anthropic | Provider::Ollama => ("-", true, 128),
            Provider::Gemini | Provider::GeminiJsonSchema | Provider::GeminiLive => (".:-", false, 128),
            // Cohere's models call tools as Python does.
            Provider::Cohere => ("", false, 64),
            Provider::Mcp => (".-", true, 128),
        };
        Self { others, any_first, longest }
    }

    fn takes(self, letter: char) -> bool {
        letter.is_ascii_alphanumeric() || letter == '_' || self.others.contains(letter)
    }

    fn begins(self, letter: char) -> bool {
        self.any_first || letter.is_ascii_alphabetic() || letter == '_'
    }

    /// Whether the name is one as it stands.
    pub(crate) fn fits(self, name: &str) -> bool {
        name.chars().all(|letter| self.takes(letter))
            && name.chars().next().is_some_and(|first| self.begins(first))
            && name.len() <= self.longest
    }

    /// The name that is nearest to one the provider takes, by the name alone. What is cut off would be lost, so then
    /// a hash stands for it.
    pub(crate) fn nearest(self, name: &str) -> Cow<'_, str> {
        if self.fits(name) {
            return Cow::Borrowed(name);
        }
        let plain = self.plain(name);
        Cow::Owned(if plain.len() > self.longest { self.hashed(name, 0) } else { plain })
    }

    /// The name with `_` for what is not taken; as long as it was.
    fn plain(self, name: &str) -> String {
        let first = name.chars().next().filter(|first| self.begins(*first) || !self.takes(*first));
        let prefix = if first.is_some() { "" } else { "_" };
        prefix.chars().chain(name.chars().map(|letter| if self.takes(letter) { letter } else { '_' })).collect()
    }

    /// The name, cut where it has to be, with a hash of the whole.
    fn hashed(self, name: &str, attempt: u32) -> String {
        let mut wire = self.plain(name);
        wire.truncate(self.longest - SUFFIX);
        let mut hash = Sha256::new_with_prefix(name.as_bytes());
        if attempt > 0 {
            hash.update(attempt.to_be_bytes());
        }
        wire.push('_');
        wire.push_str(&hex(hash.finalize().get(..4).unwrap_or_default()));
        wire
    }
}

/// Names both ways; where they are the same too.
#[derive(Default)]
pub(crate) struct Names {
    wire: HashMap<String, String>,
    tool: HashMap<String, (usize, String)>,
}

impl Names {
    /// The names of tools that are declared, by their index. `reserved` are those that provider tools have.
    ///
    /// A name that the provider takes stays. Of the others, those that would come to be the same name, or one that
    /// stays, are told apart by a hash. The order of the tools makes no difference.
    pub(crate) fn of<'a>(
        provider: Provider,
        tools: impl Iterator<Item = (usize, &'a str)>,
        reserved: &HashSet<String>,
    ) -> Self {
        let rule = NameRule::of(provider);
        let mut names = Self::default();
        let mut changed: HashMap<Cow<'a, str>, Vec<(usize, &'a str)>> = HashMap::new();
        for (at, tool) in tools {
            if rule.fits(tool) && !reserved.contains(tool) {
                names.insert(at, tool, tool.to_owned());
            } else {
                changed.entry(rule.nearest(tool)).or_default().push((at, tool));
            }
        }
        let mut unclear = Vec::new();
        for (wire, tools) in changed {
            match tools.as_slice() {
                [(at, tool)] if !reserved.contains(&*wire) && !names.tool.contains_key(&*wire) => {
                    names.insert(*at, tool, wire.into_owned());
                }
                _ => unclear.extend(tools),
            }
        }
        unclear.sort_unstable_by_key(|(_, tool)| *tool);
        for (at, tool) in unclear {
            let free = |wire: &String| !reserved.contains(wire) && !names.tool.contains_key(wire);
            if let Some(wire) = (0..=u32::MAX).map(|attempt| rule.hashed(tool, attempt)).find(free) {
                names.insert(at, tool, wire);
            }
        }
        names
    }

    pub(crate) fn insert(&mut self, at: usize, tool: &str, wire: String) {
        self.wire.insert(tool.to_owned(), wire.clone());
        self.tool.insert(wire, (at, tool.to_owned()));
    }

    pub(crate) fn wire(&self, tool: &str) -> Option<&str> {
        self.wire.get(tool).map(String::as_str)
    }

    pub(crate) fn tool(&self, wire: &str) -> Option<&str> {
        self.tool.get(wire).map(|(_, name)| name.as_str())
    }

    pub(crate) fn position(&self, wire: &str) -> Option<usize> {
        self.tool.get(wire).map(|(at, _)| *at)
    }
}
