//! What is hidden before arguments, results and messages are shown to anybody but the tool and the model: in logs, on
//! spans, in metrics. Hidden first and cut after, so that no half of a secret is left over.

use crate::json::tokens::Token;
use crate::text::truncate;
use crate::trace::redaction_json::{Out, Path, Shown};
use crate::trace::{redaction_json, redaction_patterns};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// What stands in the place of what is hidden.
pub(crate) const HIDDEN: &str = "[redacted]";

/// How often a text of JSON may hold another text of JSON.
const WITHIN: u8 = 4;

/// The rules by which secrets are hidden in what is logged and kept. THREATS: "secrets in errors, traces, logs".
///
/// Hidden is the value of every key that is, or ends in, a word for a secret, however it is spelled: `password`,
/// `secret`, `token`, `api_key`, `authorization`, `credentials`, `private_key`, `cookie`, `session`, `ssn`,
/// `card_number` and their like. So are texts that look like keys and tokens, wherever they stand: `Bearer ..`,
/// `sk-..`, JSON web tokens, PEM blocks, `password=..` in a query or a sentence; and the `value` beside such a word as
/// the `name`, `key` or `header`, as lists of headers have it. Keys, places and a rule of one's own are added.
///
/// ```
/// use tool_core::trace::Redaction;
///
/// let redaction = Redaction::new().key("diagnosis").pointer("/people/*/born");
/// let shown = redaction.json(r#"{"apiKey": "abc", "people": [{"name": "Ann", "born": 1990, "diagnosis": ["x"]}]}"#);
/// assert_eq!(
///     shown,
///     r#"{"apiKey":"[redacted]","people":[{"name":"Ann","born":"[redacted]","diagnosis":"[redacted]"}]}"#
/// );
/// assert_eq!(redaction.json("password=hunter2"), "[16 characters that are not JSON]");
/// assert_eq!(redaction.text("tried password=hunter2"), "tried password=[redacted]");
/// ```
#[derive(Clone)]
#[must_use]
pub struct Redaction(Arc<Rules>);

/// A rule of the host's: a JSON pointer, and the text or the number that stands there.
type Rule = Arc<dyn Fn(&str, &str) -> bool + Send + Sync>;

#[derive(Clone)]
pub(crate) struct Rules {
    /// Whether the words for secrets count, and texts that look like secrets.
    known: bool,
    /// The host's own, normalised.
    keys: Vec<String>,
    /// Their segments; `*` stands for any.
    pointers: Vec<Vec<String>>,
    own: Vec<Rule>,
}

impl Default for Redaction {
    fn default() -> Self {
        Self::new()
    }
}

impl Redaction {
    /// The rules that hold unless told otherwise.
    pub fn new() -> Self {
        Self(Arc::new(Rules { known: true, keys: Vec::new(), pointers: Vec::new(), own: Vec::new() }))
    }

    /// No rules: hides nothing but what is added to it. Control characters are escaped all the same.
    pub fn none() -> Self {
        Self(Arc::new(Rules { known: false, keys: Vec::new(), pointers: Vec::new(), own: Vec::new() }))
    }

    fn with(mut self, change: impl FnOnce(&mut Rules)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }

    /// Hides the values of keys that are this one, or end in it: case, `_`, `-` and the like do not matter.
    pub fn key(self, key: impl AsRef<str>) -> Self {
        let key = normal(key.as_ref());
        // An empty one would hide everything.
        if key.is_empty() { self } else { self.with(|rules| rules.keys.push(key)) }
    }

    /// Hides what stands at a JSON pointer; `*` in it stands for any key and any index.
    pub fn pointer(self, pointer: impl AsRef<str>) -> Self {
        let unescaped = |segment: &str| segment.replace("~1", "/").replace("~0", "~");
        let segments = pointer.as_ref().split('/').skip(1).map(unescaped).collect();
        self.with(|rules| rules.pointers.push(segments))
    }

    /// Hides texts, numbers and booleans for which `hides` says so: it is given the JSON pointer of each, and what
    /// stands there, texts without their quotes.
    pub fn rule(self, hides: impl Fn(&str, &str) -> bool + Send + Sync + 'static) -> Self {
        self.with(|rules| rules.own.push(Arc::new(hides)))
    }

    /// These rules and others.
    pub(crate) fn and(&self, other: &Self) -> Self {
        if self == other {
            return self.clone();
        }
        let (mut rules, other) = ((*self.0).clone(), &*other.0);
        rules.known |= other.known;
        rules.keys.extend_from_slice(&other.keys);
        rules.pointers.extend_from_slice(&other.pointers);
        rules.own.extend_from_slice(&other.own);
        Self(Arc::new(rules))
    }

    /// A JSON text, compact, with what is to be hidden replaced and control characters escaped. What is not JSON is
    /// replaced whole: nobody knows what would have to be hidden in it.
    pub fn json(&self, text: &str) -> String {
        self.json_up_to(text, usize::MAX)
    }

    /// The same, cut after so many characters, with `...` where there was more.
    pub fn json_up_to(&self, text: &str, characters: usize) -> String {
        match redaction_json::rewritten(&self.0, text, Shown { characters, within: WITHIN, cut: false }) {
            Some(shown) => truncate(&shown, characters),
            None => format!("[{} characters that are not JSON]", text.chars().count()),
        }
    }

    /// The beginning of a JSON text that was cut, as far as it is whole, with `...`.
    pub(crate) fn beginning(&self, text: &str) -> String {
        format!(
            "{}...",
            redaction_json::rewritten(&self.0, text, Shown { characters: usize::MAX, within: WITHIN, cut: true })
                .unwrap_or_default()
        )
    }

    /// A text in the quotes and escapes of JSON, without a character that nobody sees.
    pub(crate) fn quoted(text: &str) -> String {
        let mut out = Out::default();
        out.text(text);
        out.json
    }

    /// A text that is no JSON: a message, a name. What looks like a secret in it is hidden.
    pub fn text(&self, text: &str) -> String {
        let shown = self.0.text(text);
        if !shown.contains(is_unprintable) {
            return shown.into_owned();
        }
        let escaped = |c: char| if is_unprintable(c) { Err(c.escape_default()) } else { Ok(c) };
        shown.chars().map(escaped).fold(String::with_capacity(shown.len()), |mut text, c| {
            match c {
                Ok(c) => text.push(c),
                Err(escaped) => text.extend(escaped),
            }
            text
        })
    }
}

impl Rules {
    pub(crate) fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if !self.known && self.keys.is_empty() {
            return Cow::Borrowed(text);
        }
        redaction_patterns::hidden(text, self.known, &|word| self.is_secret(word, false))
    }

    pub(crate) fn is_secret(&self, key: &str, number: bool) -> bool {
        let key = normal(key);
        (self.known && is_secret(&key, number)) || self.keys.iter().any(|own| key.ends_with(own))
    }

    pub(crate) fn hides(&self, path: &Path<'_>, token: &Token<'_>) -> bool {
        let (content, number) = match token {
            Token::Text(text) => (Some(&**text), false),
            Token::Bare(text) => (Some(*text), redaction_json::is_number(text)),
            _ => (None, false),
        };
        if path.last_key().is_some_and(|key| self.is_secret(key, number)) || path.is_value_of_secret(number) {
            return true;
        }
        if self.pointers.iter().any(|pointer| path.is(pointer)) {
            return true;
        }
        let Some(content) = content.filter(|_| !self.own.is_empty()) else { return false };
        let pointer = path.to_string();
        self.own.iter().any(|rule| rule(&pointer, content))
    }
}

impl fmt::Debug for Redaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Rules { known, keys, pointers, own } = &*self.0;
        f.debug_struct("Redaction")
            .field("known", known)
            .field("keys", keys)
            .field("pointers", pointers)
            .field("rules", &own.len())
            .finish()
    }
}

impl PartialEq for Redaction {
    /// The same keys and pointers, and the very same rules.
    fn eq(&self, other: &Self) -> bool {
        let (one, other) = (&*self.0, &*other.0);
        let same_rules = one.own.len() == other.own.len()
            && one.own.iter().zip(&other.own).all(|(one, other)| Arc::ptr_eq(one, other));
        same_rules && one.known == other.known && one.keys == other.keys && one.pointers == other.pointers
    }
}

impl Eq for Redaction {}

// ---- The words for secrets, and the characters that nobody sees.

/// A key that has one of these in it.
const SECRET_WITHIN: [&str; 6] = ["password", "passwd", "apikey", "privatekey", "secretkey", "accesskey"];

/// A key that is one of these or ends in it, in the singular.
const AT_END: [&str; 28] = [
    "accesstoken",
    "accountkey",
    "authorization",
    "bearer",
    "cardnumber",
    "clientassertion",
    "cookie",
    "credential",
    "creditcard",
    "cvc",
    "cvv",
    "encryptionkey",
    "jwt",
    "passcode",
    "passphrase",
    "pwd",
    "secret",
    "securitycode",
    "session",
    "sessionid",
    "sharedkey",
    "signature",
    "signingkey",
    "signingsecret",
    "socialsecuritynumber",
    "ssn",
    "subscriptionkey",
    "token",
];

/// A key that is one of these: too short to be looked for at the end of others.
const WHOLE: [&str; 7] = ["auth", "mfacode", "otp", "pan", "pass", "pin", "sig"];

/// A key as it is compared: its letters and digits in lower case, so that `api_key`, `apiKey` and `API-Key` are one.
pub(crate) fn normal(key: &str) -> String {
    key.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Whether a key, as [`normal`] has it, says that its value is a secret. Of many things in one word a number says how
/// many they are: `max_tokens` is none.
pub(crate) fn is_secret(key: &str, number: bool) -> bool {
    let key = key.trim_end_matches(|c: char| c.is_ascii_digit());
    let plural = key.strip_suffix('s').filter(|_| !number);
    let ends = |key: &str| AT_END.iter().any(|word| key.ends_with(word));
    WHOLE.contains(&key) || SECRET_WITHIN.iter().any(|word| key.contains(word)) || ends(key) || plural.is_some_and(ends)
}

/// Control characters, and those that turn the text around them or take no room: nobody sees them, and whoever reads
/// a log is misled.
pub(crate) fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
        )
}
