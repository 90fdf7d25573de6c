//! A provider's key, which nothing shows.

use crate::transport::sanitize::excerpt;
use std::fmt;
#[cfg(feature = "http")]
use tool_core::trace::Redaction;

/// A key. No `Debug`, error or log has it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct ApiKey(String);

impl ApiKey {
    /// As people paste it: with what stands around it.
    pub(crate) fn new(key: &str) -> Self {
        Self(key.trim().to_owned())
    }

    /// The first of these settings of the environment that says something.
    fn from_env(names: &[&str]) -> Option<Self> {
        setting(names).map(|key| Self::new(&key))
    }

    /// The key itself.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// A text of the provider without the key, which some repeat.
    pub(crate) fn hide(&self, text: &str) -> String {
        if self.0.is_empty() { text.to_owned() } else { text.replace(&self.0, "[key]") }
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[key]")
    }
}

/// Where a provider is reached unless told otherwise, and the settings of the environment that say so.
#[derive(Clone, Copy)]
pub(crate) struct Defaults<'a> {
    pub(crate) base: &'a str,
    pub(crate) base_env: &'a [&'a str],
    pub(crate) key_env: &'a [&'a str],
}

/// The base URL and the key, as the program or else the environment has them. The key of the environment goes to no
/// server that the program has named: what it names may be anybody's.
pub(crate) fn address(base: Option<&String>, key: Option<&ApiKey>, defaults: Defaults<'_>) -> (String, Option<ApiKey>) {
    if let Some(base) = base {
        return (base.clone(), key.cloned());
    }
    let base = setting(defaults.base_env).unwrap_or_else(|| defaults.base.to_owned());
    (base, key.cloned().or_else(|| ApiKey::from_env(defaults.key_env)))
}

/// The first of these settings of the environment that says something.
pub(crate) fn setting(names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| std::env::var(name).ok().filter(|value| !value.trim().is_empty()))
}

/// Returns the beginning of a provider's text for an error, escaped and without the key.
pub(crate) fn told(text: &str, key: Option<&ApiKey>) -> String {
    excerpt(&key.map_or_else(|| text.to_owned(), |key| key.hide(text)))
}

/// The same for a log, which more people read: without anything else that looks like a secret.
#[cfg(feature = "http")]
pub(crate) fn logged(text: &str, key: Option<&ApiKey>) -> String {
    let text = key.map_or_else(|| text.to_owned(), |key| key.hide(text));
    told(&Redaction::new().text(&text), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_in_no_debug_form_and_in_no_text_that_is_told() {
        let key = ApiKey::new(" sk-canary\n");
        assert_eq!((key.expose(), format!("{key:?}")), ("sk-canary", "[key]".to_owned()));
        assert_eq!(told("no such key: sk-canary!", Some(&key)), "no such key: [key]!");
    }

    #[test]
    fn what_a_provider_says_is_cut_and_escaped() {
        assert_eq!(told("a\u{1b}[31mb\n", None), "a\\u{1b}[31mb");
        assert_eq!(told(&"é".repeat(600), None).chars().count(), 501);
    }
}
