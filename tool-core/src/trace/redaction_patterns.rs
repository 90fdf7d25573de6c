//! What looks like a secret in the middle of a text.

use crate::trace::redaction::HIDDEN;
use std::borrow::Cow;
use std::ops::Range;

/// How the keys and tokens begin that services give out.
const BEGINNINGS: [&str; 29] = [
    "sk-",
    "sk_live_",
    "sk_test_",
    "pk_live_",
    "rk_live_",
    "rk_test_",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "xoxa-",
    "xoxb-",
    "xoxp-",
    "xoxr-",
    "xoxs-",
    "xapp-",
    "AKIA",
    "ASIA",
    "AIza",
    "ya29.",
    "hf_",
    "gsk_",
    "xai-",
    "npm_",
    "whsec_",
    "SG.",
];

/// The fewest characters that make a key, behind its beginning.
const LEAST: usize = 8;

/// The text without what looks like a secret. `is_secret` knows the words for secrets; `known`: whether texts that look
/// like keys are hidden too.
pub(crate) fn hidden<'t>(text: &'t str, known: bool, is_secret: &dyn Fn(&str) -> bool) -> Cow<'t, str> {
    let mut scan = Scan { text, at: 0, known, is_secret };
    let mut shown = String::new();
    let mut done = 0;
    while let Some(secret) = scan.next_secret() {
        shown.push_str(text.get(done..secret.start).unwrap_or_default());
        shown.push_str(HIDDEN);
        done = secret.end;
    }
    if done == 0 {
        return Cow::Borrowed(text);
    }
    shown.push_str(text.get(done..).unwrap_or_default());
    Cow::Owned(shown)
}

struct Scan<'t> {
    text: &'t str,
    at: usize,
    known: bool,
    is_secret: &'t dyn Fn(&str) -> bool,
}

/// What names and most keys are made of.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

/// What ends a value that stands without quotes.
fn ends_value(byte: u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, b'&' | b',' | b';' | b'"' | b'\'' | b'}' | b']' | b')' | b'<' | b'\\')
}

impl Scan<'_> {
    fn byte(&self, at: usize) -> u8 {
        self.text.as_bytes().get(at).copied().unwrap_or(0)
    }

    fn rest(&self, at: usize) -> &str {
        self.text.get(at..).unwrap_or_default()
    }

    /// The first place from `at` on where `ends` holds, or the end.
    fn until(&self, at: usize, ends: impl Fn(u8) -> bool) -> usize {
        let rest = self.text.as_bytes().get(at..).unwrap_or_default();
        at + rest.iter().position(|byte| ends(*byte)).unwrap_or(rest.len())
    }

    fn next_secret(&mut self) -> Option<Range<usize>> {
        while self.at < self.text.len() {
            let start = self.at;
            let found = if is_word(self.byte(start)) {
                self.at = self.until(start, |byte| !is_word(byte));
                self.word(start, self.at)
            } else {
                self.at += 1;
                self.user(start)
            };
            // What is empty hides nothing.
            if let Some(found) = found.filter(|found| found.start < found.end) {
                self.at = self.at.max(found.end);
                return Some(found);
            }
        }
        None
    }

    /// What a word, and what follows it, is to be hidden for.
    fn word(&self, start: usize, end: usize) -> Option<Range<usize>> {
        let word = self.text.get(start..end)?;
        if let Some(value) = self.assigned(word, end) {
            return Some(value);
        }
        if !self.known {
            return None;
        }
        if let Some(begin) = word.find("-----BEGIN") {
            return Some(self.block(start + begin));
        }
        let is_key = |beginning: &str| word.len() >= beginning.len() + LEAST && word.starts_with(beginning);
        let is_jwt = word.starts_with("eyJ") && word.len() > 20 && word.contains('.');
        if is_jwt || BEGINNINGS.into_iter().any(is_key) {
            return Some(start..self.until(end, ends_value));
        }
        self.scheme(word, end)
    }

    /// `password=..`, `"password": ".."`, `Authorization: ..`
    fn assigned(&self, word: &str, end: usize) -> Option<Range<usize>> {
        let is_space = |byte: u8| matches!(byte, b' ' | b'\t' | b'"' | b'\'' | b'\\');
        let sign = self.until(end, |byte| !is_space(byte));
        if !matches!(self.byte(sign), b'=' | b':') || !(self.is_secret)(word) {
            return None;
        }
        let start = self.until(sign + 1, |byte| !is_space(byte));
        let quote = self.byte(start.saturating_sub(1));
        if matches!(quote, b'"' | b'\'') {
            return Some(start..self.quoted(start, quote));
        }
        // What has several parts goes on to the end of its line.
        let lower = word.to_ascii_lowercase();
        if ["authorization", "cookie"].iter().any(|many| lower.ends_with(many)) {
            return Some(start..self.until(start, |byte| matches!(byte, b'\n' | b'\r' | b'"' | b'\'')));
        }
        let value = self.until(start, ends_value);
        let scheme = self.text.get(start..value).and_then(|word| self.scheme(word, value));
        Some(start..scheme.map_or(value, |token| token.end))
    }

    /// Where the text ends that began after a quote: at the next one that is no more escaped than that was.
    fn quoted(&self, start: usize, quote: u8) -> usize {
        let backslashes = |at: usize| {
            let before = self.text.as_bytes().get(..at).unwrap_or_default();
            before.iter().rev().take_while(|byte| **byte == b'\\').count()
        };
        let most = backslashes(start.saturating_sub(1));
        let mut at = start;
        loop {
            at = self.until(at, |byte| byte == quote);
            let escaped = backslashes(at);
            if at >= self.text.len() || escaped <= most {
                return at.saturating_sub(escaped.min(most)).max(start);
            }
            at += 1;
        }
    }

    /// `Bearer ..`, `Basic ..`
    fn scheme(&self, word: &str, end: usize) -> Option<Range<usize>> {
        let start = self.until(end, |byte| byte != b' ');
        let (bearer, basic) = (word.eq_ignore_ascii_case("bearer"), word.eq_ignore_ascii_case("basic"));
        if !self.known || start == end || !(bearer || basic) {
            return None;
        }
        let stop = self.until(start, ends_value);
        let token = self.text.get(start..stop)?;
        // Some words are as long.
        let is_token = bearer || token.contains(|c: char| c.is_ascii_digit() || c == '=');
        (token.len() >= LEAST && is_token).then_some(start..stop)
    }

    /// A PEM block, up to its end or that of the text.
    fn block(&self, start: usize) -> Range<usize> {
        let end = self.rest(start).find("-----END").and_then(|end| {
            let end = start + end + "-----END".len();
            self.rest(end).find("-----").map(|dashes| end + dashes + "-----".len())
        });
        start..end.unwrap_or(self.text.len())
    }

    /// The password in `https://user:password@host`.
    fn user(&self, start: usize) -> Option<Range<usize>> {
        let rest = self.rest(start).strip_prefix("://").filter(|_| self.known)?;
        let rest = rest.split(|c: char| c.is_whitespace() || matches!(c, '/' | '"' | '?' | '#')).next()?;
        let user = rest.rfind('@')?;
        let colon = rest.get(..user)?.find(':')?;
        let host = start + "://".len();
        Some(host + colon + 1..host + user)
    }
}
