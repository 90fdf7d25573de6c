//! Words and patterns by which a secret is recognized in a key or in the middle of a text.
//!
//! The scanner goes through a text once. What it looks at again is bounded by the word or the value
//! at hand, so its time is linear in the length of the text.

use std::borrow::Cow;
use std::ops::Range;

/// The text in the place of a secret.
pub(crate) const REDACTED: &str = "[redacted]";

/// Words that make a key a secret wherever they are in it.
const WORDS_INSIDE: [&str; 6] = [
    "password",
    "passwd",
    "apikey",
    "privatekey",
    "secretkey",
    "accesskey",
];

/// Words that make a key a secret if it ends in them, in the singular or the plural.
#[rustfmt::skip] // a word a line would be a page
const WORDS_AT_END: [&str; 31] = [
    "accesstoken", "accountkey", "authorization", "bearer", "cardnumber", "clientassertion", "cookie", "credential",
    "creditcard", "cvc", "cvv", "encryptionkey", "hmackey", "jwt", "masterkey", "passcode", "passphrase", "pwd", "sealingkey",
    "secret", "securitycode", "session", "sessionid", "sharedkey", "signature", "signingkey", "signingsecret",
    "socialsecuritynumber", "ssn", "subscriptionkey", "token",
];

/// Words that make a key a secret if they are all of it. They are too short to be searched in
/// others.
const WHOLE_WORDS: [&str; 7] = ["auth", "mfacode", "otp", "pan", "pass", "pin", "sig"];

/// Returns the letters and digits of a key in lower case, so that `api_key`, `apiKey` and `API-Key`
/// are equal.
pub(crate) fn normalize(key: &str) -> String {
    key.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

/// Returns whether a [normalized](normalize) key stands for a secret.
///
/// If the value is a number, a key in the plural does not: `max_tokens` is a count.
pub(crate) fn is_secret_word(normalized: &str, is_number: bool) -> bool {
    let key = normalized.trim_end_matches(|c: char| c.is_ascii_digit());
    let singular = key.strip_suffix('s').filter(|_| !is_number);
    let has_ending = |key: &str| WORDS_AT_END.iter().any(|word| key.ends_with(word));
    WHOLE_WORDS.contains(&key)
        || WORDS_INSIDE.iter().any(|word| key.contains(word))
        || has_ending(key)
        || singular.is_some_and(has_ending)
}

/// The prefixes of keys and tokens that well-known services issue.
#[rustfmt::skip] // a word a line would be a page
const KEY_PREFIXES: [&str; 29] = [
    "sk-", "sk_live_", "sk_test_", "pk_live_", "rk_live_", "rk_test_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_",
    "github_pat_", "glpat-", "xoxa-", "xoxb-", "xoxp-", "xoxr-", "xoxs-", "xapp-", "AKIA", "ASIA", "AIza", "ya29.",
    "hf_", "gsk_", "xai-", "npm_", "whsec_", "SG.",
];

/// Minimum number of characters of a key or token after its prefix.
const MIN_KEY: usize = 8;

/// Redacts the secrets in a text. `is_secret` recognizes the words before `=` and `:`. With
/// `patterns`, keys and tokens of known forms are redacted too.
pub(crate) fn redact_patterns<'t>(
    text: &'t str,
    patterns: bool,
    is_secret: &dyn Fn(&str) -> bool,
) -> Cow<'t, str> {
    let mut scanner = Scanner {
        text,
        at: 0,
        patterns,
        is_secret,
    };
    let mut shown = String::new();
    let mut done = 0;
    while let Some(secret) = scanner.next_secret() {
        shown.push_str(text.get(done..secret.start).unwrap_or_default());
        shown.push_str(REDACTED);
        done = secret.end;
    }
    if done == 0 {
        return Cow::Borrowed(text);
    }
    shown.push_str(text.get(done..).unwrap_or_default());
    Cow::Owned(shown)
}

struct Scanner<'t> {
    text: &'t str,
    at: usize,
    patterns: bool,
    is_secret: &'t dyn Fn(&str) -> bool,
}

/// Returns whether a byte belongs to a name or a key.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

/// Returns whether a byte ends a value without quotes.
fn ends_value(byte: u8) -> bool {
    byte.is_ascii_whitespace()
        || matches!(
            byte,
            b'&' | b',' | b';' | b'"' | b'\'' | b'}' | b']' | b')' | b'<' | b'\\'
        )
}

fn is_space_or_quote(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'"' | b'\'' | b'\\')
}

/// Returns true for a word that is an option of a command, for example `--token`.
pub(crate) fn names_option(word: &str) -> bool {
    word.starts_with('-') && word.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// Returns true for the word after an option if it is no secret: another option, or a count, as in
/// `--max-tokens 500`.
pub(crate) fn is_option_or_count(option: &str, value: &str) -> bool {
    let is_option = value.starts_with("--") || (value.len() == 2 && value.starts_with('-'));
    let is_count = option.ends_with(['s', 'S']) && value.bytes().all(|byte| byte.is_ascii_digit());
    is_option || is_count
}

fn is_hex(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns true for a token of an approval: 32 hex digits, a dot, and 64.
fn is_approval_token(word: &str) -> bool {
    word.split_once('.')
        .is_some_and(|(id, proof)| is_hex(id, 32) && is_hex(proof, 64))
}

/// Returns true for a text that begins with a tag's name, with or without a prefix.
fn names_tag(text: &str, word: &str) -> bool {
    let name = text
        .split(|c: char| !c.is_ascii() || !is_word(c as u8) && c != ':')
        .next()
        .unwrap_or_default();
    name.strip_suffix(word)
        .is_some_and(|prefix| prefix.is_empty() || prefix.ends_with(':'))
}

impl Scanner<'_> {
    fn byte(&self, at: usize) -> u8 {
        self.text.as_bytes().get(at).copied().unwrap_or(0)
    }

    fn rest(&self, at: usize) -> &str {
        self.text.get(at..).unwrap_or_default()
    }

    /// Returns the first position from `at` at which `ends` holds, or the end of the text.
    fn until(&self, at: usize, ends: impl Fn(u8) -> bool) -> usize {
        let rest = self.text.as_bytes().get(at..).unwrap_or_default();
        at + rest
            .iter()
            .position(|byte| ends(*byte))
            .unwrap_or(rest.len())
    }

    fn next_secret(&mut self) -> Option<Range<usize>> {
        while self.at < self.text.len() {
            let start = self.at;
            let found = if is_word(self.byte(start)) {
                self.at = self.until(start, |byte| !is_word(byte));
                self.secret_at_word(start, self.at)
            } else {
                self.at += 1;
                self.url_password(start)
            };
            // An empty value is not redacted.
            if let Some(found) = found.filter(|found| found.start < found.end) {
                self.at = self.at.max(found.end);
                return Some(found);
            }
        }
        None
    }

    /// Returns the secret that a word is, or that follows it.
    fn secret_at_word(&self, start: usize, end: usize) -> Option<Range<usize>> {
        let word = self.text.get(start..end)?;
        let value = self.assigned_value(word, end);
        let value = value
            .or_else(|| self.option_value(word, end))
            .or_else(|| self.tag_content(word, start, end));
        if value.is_some() {
            return value;
        }
        if !self.patterns {
            return None;
        }
        if is_approval_token(word) {
            return Some(start..end);
        }
        if let Some(key) = self.key_of_ours(word, end) {
            return Some(key);
        }
        if let Some(begin) = word.find("-----BEGIN") {
            return Some(self.pem_block(start + begin));
        }
        let is_key =
            |prefix: &str| word.len() >= prefix.len() + MIN_KEY && word.starts_with(prefix);
        let is_jwt = word.starts_with("eyJ") && word.len() > 20 && word.contains('.');
        if is_jwt || KEY_PREFIXES.into_iter().any(is_key) {
            return Some(start..self.until(end, ends_value));
        }
        self.scheme_token(word, end)
    }

    /// Returns the value in `password=..`, `"password": ".."` and `Authorization: ..`.
    fn assigned_value(&self, word: &str, end: usize) -> Option<Range<usize>> {
        let sign = self.until(end, |byte| !is_space_or_quote(byte));
        if !matches!(self.byte(sign), b'=' | b':') || !(self.is_secret)(word) {
            return None;
        }
        let start = self.value_start(sign + 1)?;
        let quote = self.byte(start.saturating_sub(1));
        if matches!(quote, b'"' | b'\'') {
            return Some(start..self.quote_end(start, quote));
        }
        // Headers with several parts end with the line.
        let lower = word.to_ascii_lowercase();
        if ["authorization", "cookie"]
            .iter()
            .any(|many| lower.ends_with(many))
        {
            return Some(
                start..self.until(start, |byte| matches!(byte, b'\n' | b'\r' | b'"' | b'\'')),
            );
        }
        let value = self.until(start, ends_value);
        let scheme = self
            .text
            .get(start..value)
            .and_then(|word| self.scheme_token(word, value));
        Some(start..scheme.map_or(value, |token| token.end))
    }

    /// Returns the value in `--token ..` and `-ApiKey ".."`, as a command line has it.
    fn option_value(&self, word: &str, end: usize) -> Option<Range<usize>> {
        if !names_option(word) || !(self.is_secret)(word) {
            return None;
        }
        let start = self.option_value_start(end);
        if start == end {
            return None;
        }
        let quote = self.byte(start - 1);
        if matches!(quote, b'"' | b'\'') {
            return Some(start..self.quote_end(start, quote));
        }
        let stop = self.until(start, ends_value);
        let value = self.text.get(start..stop)?;
        (!is_option_or_count(word, value)).then_some(start..stop)
    }

    /// Returns the beginning of the word after an option. A backslash continues a command on the
    /// next line.
    fn option_value_start(&self, end: usize) -> usize {
        let mut start = end;
        loop {
            let next = self.byte(start);
            let continues =
                matches!(next, b'\r' | b'\n') && matches!(self.byte(start - 1), b'\\' | b'\r');
            if !is_space_or_quote(next) && !continues {
                return start;
            }
            start += 1;
            if matches!(next, b'"' | b'\'') {
                return start;
            }
        }
    }

    /// Returns the beginning of the value after a sign. It may be on the next line, also after the
    /// marks of YAML for a list and for a text of several lines. A line that names a value of its
    /// own is none.
    fn value_start(&self, after_sign: usize) -> Option<usize> {
        let start = self.until(after_sign, |byte| !is_space_or_quote(byte));
        let line_end = self.until(start, |byte| {
            !matches!(byte, b'|' | b'>' | b'+' | b'-' | b' ')
        });
        if self.byte(after_sign - 1) != b':' || !matches!(self.byte(line_end), b'\r' | b'\n') {
            return Some(start);
        }
        let line = line_end
            + if self.rest(line_end).starts_with("\r\n") {
                2
            } else {
                1
            };
        let mut next = self.until(line, |byte| !is_space_or_quote(byte));
        if self.rest(next).starts_with("- ") {
            next = self.until(next + 1, |byte| !is_space_or_quote(byte));
        }
        let value = self.text.get(next..self.until(next, ends_value))?;
        (!value.is_empty() && !value.ends_with(':')).then_some(next)
    }

    /// Returns the content of `<password>..</password>`, where the word is the name of the tag.
    fn tag_content(&self, word: &str, start: usize, end: usize) -> Option<Range<usize>> {
        // The name may have a prefix: `<soap:password>`.
        let before = self.text.as_bytes().get(..start)?;
        let prefix = before
            .iter()
            .rev()
            .take_while(|byte| is_word(**byte) || **byte == b':')
            .take(64)
            .count();
        let is_tag = before
            .len()
            .checked_sub(prefix + 1)
            .and_then(|at| before.get(at))
            == Some(&b'<');
        if !is_tag || !(self.is_secret)(word) {
            return None;
        }
        let close = self.until(end, |byte| matches!(byte, b'>' | b'<'));
        if self.byte(close) != b'>' || self.byte(close - 1) == b'/' {
            return None;
        }
        let content = close + 1;
        let rest = self.rest(content);
        if !rest.starts_with('<') || rest.starts_with("</") {
            return Some(content..self.until(content, |byte| byte == b'<'));
        }
        // Tags or CDATA inside. Without an end the content is all of the text.
        let closing = rest.match_indices("</").map(|(at, _)| at);
        let mut closing =
            closing.filter(|at| rest.get(at + 2..).is_some_and(|name| names_tag(name, word)));
        Some(content..content + closing.next().unwrap_or(rest.len()))
    }

    /// Returns the key in `2026-11:<64 hex digits>`, as a keyring writes it.
    fn key_of_ours(&self, word: &str, end: usize) -> Option<Range<usize>> {
        const DIGESTS: [&str; 4] = ["sha256", "digest", "hash", "checksum"];
        if self.byte(end) != b':'
            || DIGESTS
                .iter()
                .any(|digest| normalize(word).ends_with(digest))
        {
            return None;
        }
        let stop = self.until(end + 1, |byte| !is_word(byte));
        self.text
            .get(end + 1..stop)
            .filter(|key| is_hex(key, 64))
            .map(|_| end + 1..stop)
    }

    /// Returns the end of a quoted text: the next quote with no more backslashes before it than the
    /// opening one.
    fn quote_end(&self, start: usize, quote: u8) -> usize {
        let backslashes = |at: usize| {
            let before = self.text.as_bytes().get(..at).unwrap_or_default();
            before
                .iter()
                .rev()
                .take_while(|byte| **byte == b'\\')
                .count()
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

    /// Returns the token in `Bearer ..` and `Basic ..`.
    fn scheme_token(&self, word: &str, end: usize) -> Option<Range<usize>> {
        let start = self.until(end, |byte| byte != b' ');
        let bearer = word.eq_ignore_ascii_case("bearer");
        let basic = word.eq_ignore_ascii_case("basic");
        if !self.patterns || start == end || !(bearer || basic) {
            return None;
        }
        let stop = self.until(start, ends_value);
        let token = self.text.get(start..stop)?;
        // Ordinary words can be as long: `basic training`.
        let is_token = bearer || token.contains(|c: char| c.is_ascii_digit() || c == '=');
        (token.len() >= MIN_KEY && is_token).then_some(start..stop)
    }

    /// Returns a PEM block up to its end line, or up to the end of the text.
    fn pem_block(&self, start: usize) -> Range<usize> {
        let end = self.rest(start).find("-----END").and_then(|end| {
            let end = start + end + "-----END".len();
            self.rest(end)
                .find("-----")
                .map(|dashes| end + dashes + "-----".len())
        });
        start..end.unwrap_or(self.text.len())
    }

    /// Returns the password in `https://user:password@host`.
    fn url_password(&self, start: usize) -> Option<Range<usize>> {
        let rest = self
            .rest(start)
            .strip_prefix("://")
            .filter(|_| self.patterns)?;
        let rest = rest
            .split(|c: char| c.is_whitespace() || matches!(c, '/' | '"' | '?' | '#'))
            .next()?;
        let user = rest.rfind('@')?;
        let colon = rest.get(..user)?.find(':')?;
        let host = start + "://".len();
        Some(host + colon + 1..host + user)
    }
}
