//! Redaction of secrets in arguments, results and messages before logs, spans and metrics show
//! them.
//!
//! A JSON text is parsed, redacted and written again. A text that is not JSON is scanned for
//! patterns. Redaction comes before truncation, so that no half of a secret is left.

use crate::json::decoder::Decoder;
use crate::json::keys::Key;
use crate::json::string::push_string;
use crate::text::{escape_invisible, escape_invisible_json, is_invisible, prefix, truncate};
use crate::trace::redaction_patterns::{
    REDACTED, is_option_or_count, is_secret_word, names_option, normalize, redact_patterns,
};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// Rules by which secrets are hidden in logs, spans and metrics.
///
/// The default rules hide:
///
/// - the value of every key that is, or ends in, a word for a secret in any spelling: `password`,
///   `secret`, `token`, `api_key`, `authorization`, `credentials`, `private_key`, `cookie`,
///   `session`, `ssn`, `card_number` and the like,
/// - the `value` beside such a word as the `name`, `key` or `header`, as in lists of headers,
/// - the value after such a word as an option of a command: `--token ..`, in a text and in a list,
/// - texts that look like keys and tokens, wherever they are: `Bearer ..`, `sk-..`, JSON web
///   tokens, PEM blocks, keys of a keyring, tokens of approvals, `password=..` in a query or a
///   sentence, `<password>..</password>`, and a value on the line after `password:`.
///
/// They do not find a secret without such a word or form: a password in a sentence
/// (`the word is hunter2`), a key in base64 or hexadecimal digits alone, a secret in another
/// encoding, one that is divided, or one under a key of another language. Add a
/// [`key`](Self::key), a [`pointer`](Self::pointer) or a [`rule`](Self::rule) for those.
///
/// Further keys, places and rules can be added.
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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Redaction(Arc<RedactionRules>);

/// A rule of the host. It receives the JSON pointer of a text, a number or a literal, and the text
/// itself. Rules are equal if they are the same closure.
#[derive(Clone)]
struct CustomRule(Arc<HidesValue>);

type HidesValue = dyn Fn(&str, &str) -> bool + Send + Sync;

impl PartialEq for CustomRule {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for CustomRule {}

impl fmt::Debug for CustomRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CustomRule")
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct RedactionRules {
    /// True if the default rules do not apply.
    without_defaults: bool,
    /// Added keys, normalized.
    keys: Vec<String>,
    /// Added pointers as lists of segments. `*` matches any segment.
    pointers: Vec<Vec<String>>,
    custom: Vec<CustomRule>,
}

impl Redaction {
    /// Creates the default rules.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates an empty set of rules, which hides only what is added to it. Control characters are
    /// escaped in any case.
    pub fn none() -> Self {
        Self::default().with(|rules| rules.without_defaults = true)
    }

    fn with(mut self, change: impl FnOnce(&mut RedactionRules)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }

    /// Hides the values of keys that are, or end in, this one. Case, `_`, `-` and other punctuation
    /// do not matter.
    pub fn key(self, key: impl AsRef<str>) -> Self {
        let key = normalize(key.as_ref());
        // Every key ends in the empty one.
        if key.is_empty() {
            self
        } else {
            self.with(|rules| rules.keys.push(key))
        }
    }

    /// Hides the value at a JSON pointer. A `*` segment matches any key and any index.
    pub fn pointer(self, pointer: impl AsRef<str>) -> Self {
        let unescaped = |segment: &str| segment.replace("~1", "/").replace("~0", "~");
        let segments = pointer.as_ref().split('/').skip(1).map(unescaped).collect();
        self.with(|rules| rules.pointers.push(segments))
    }

    /// Hides each text, number and literal for which `hides` returns true. It receives the value's
    /// JSON pointer and the value, texts without quotes.
    pub fn rule(self, hides: impl Fn(&str, &str) -> bool + Send + Sync + 'static) -> Self {
        self.with(|rules| rules.custom.push(CustomRule(Arc::new(hides))))
    }

    /// Returns rules that hide what either set hides.
    pub(crate) fn and(&self, other: &Self) -> Self {
        if self == other {
            return self.clone();
        }
        self.clone().with(|rules| {
            rules.without_defaults &= other.0.without_defaults;
            rules.keys.extend_from_slice(&other.0.keys);
            rules.pointers.extend_from_slice(&other.0.pointers);
            rules.custom.extend_from_slice(&other.0.custom);
        })
    }

    /// Returns a JSON text redacted, in compact form and with control characters escaped. A text
    /// that is not JSON is replaced whole, because its secrets cannot be found.
    pub fn json(&self, text: &str) -> String {
        self.json_up_to(text, usize::MAX)
    }

    /// Returns the first `characters` of [`json`](Self::json), with `...` if there is more.
    pub fn json_up_to(&self, text: &str, characters: usize) -> String {
        let limit = characters.saturating_mul(16).max(MIN_PARSED);
        let parsed = prefix(text, limit);
        let (shown, is_complete) = self.0.redact_json(parsed, MAX_NESTING);
        if shown.chars().nth(characters).is_some() {
            truncate(&shown, characters)
        } else if is_complete {
            shown
        } else if parsed.len() < text.len() {
            shown + "..."
        } else {
            format!("[{} characters that are not JSON]", text.chars().count())
        }
    }

    /// Returns the part of a truncated JSON text that is complete, redacted and with `...`.
    pub(crate) fn json_prefix(&self, text: &str) -> String {
        self.0.redact_json(text, MAX_NESTING).0 + "..."
    }

    /// Returns a text as a JSON string, with invisible characters escaped.
    pub(crate) fn quote(text: &str) -> String {
        let mut json = String::new();
        push_quoted(&mut json, text);
        json
    }

    /// Returns a text that is not JSON, for example a message or a name, with secrets redacted and
    /// invisible characters escaped.
    pub fn text(&self, text: &str) -> String {
        escape_invisible(&self.0.redact_text(text))
    }
}

/// Maximum number of JSON texts inside each other, as strings. Deeper ones are scanned for patterns
/// only.
const MAX_NESTING: u8 = 4;

/// The number of bytes that are parsed in any case, however few characters are asked for. A longer
/// text is parsed in proportion to what is shown of it.
const MIN_PARSED: usize = 64 * 1024;

impl RedactionRules {
    fn is_empty(&self) -> bool {
        self.without_defaults
            && self.keys.is_empty()
            && self.pointers.is_empty()
            && self.custom.is_empty()
    }

    /// Returns whether a key or a name stands for a secret. `normalized`: see [`normalize`].
    fn is_secret(&self, normalized: &str, is_number: bool) -> bool {
        (!self.without_defaults && is_secret_word(normalized, is_number))
            || self.keys.iter().any(|key| normalized.ends_with(key))
    }

    /// Redacts the patterns in a text that is not JSON.
    fn redact_text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.without_defaults && self.keys.is_empty() {
            return Cow::Borrowed(text);
        }
        redact_patterns(text, !self.without_defaults, &|word| {
            self.is_secret(&normalize(word), false)
        })
    }

    /// Redacts a JSON text up to its end or to where it breaks the grammar, and returns whether it
    /// is complete.
    fn redact_json(&self, text: &str, nesting: u8) -> (String, bool) {
        let mut decoder = Decoder::new(text);
        let root = JsonNode::read(&mut decoder);
        let mut writer = RedactingWriter {
            rules: self,
            nesting,
            pointer: String::new(),
            json: String::new(),
        };
        let pointers = self.pointers.iter().map(Vec::as_slice).collect::<Vec<_>>();
        writer.value(&root, false, &pointers);
        (writer.json, root.is_complete() && decoder.end().is_ok())
    }
}

/// A parsed JSON text. Unlike `serde_json::Value` it keeps repeated keys, the spelling of numbers,
/// and the part of a broken text that precedes the error.
enum JsonNode<'t> {
    /// An object, or an array, whose members have empty keys.
    Container {
        is_object: bool,
        members: Vec<(Key<'t>, JsonNode<'t>)>,
        is_complete: bool,
    },
    Text(Key<'t>),
    /// A number, `true`, `false` or `null`. Empty where the text breaks the grammar.
    Literal(&'t str),
}

impl<'t> JsonNode<'t> {
    /// Reads the next value. The decoder is strict, and bounds the depth.
    fn read(decoder: &mut Decoder<'t>) -> Self {
        let node = match decoder.peek() {
            b'{' => decoder.open().map(|()| Self::read_members(decoder, true)),
            b'[' => decoder.open().map(|()| Self::read_members(decoder, false)),
            b'"' => decoder.string().map(Self::Text),
            _ => decoder.raw().map(Self::Literal),
        };
        node.unwrap_or(Self::Literal(""))
    }

    fn read_members(decoder: &mut Decoder<'t>, is_object: bool) -> Self {
        let mut members = Vec::new();
        let is_complete = loop {
            let first = members.is_empty();
            let next = if is_object {
                decoder.next_key(first)
            } else {
                decoder
                    .next_element(first)
                    .map(|more| more.then(Key::default))
            };
            let key = match next {
                Ok(Some(key)) => key,
                end => break end.is_ok(),
            };
            let value = Self::read(decoder);
            let is_broken = !value.is_complete();
            members.push((key, value));
            if is_broken {
                break false;
            }
        };
        Self::Container {
            is_object,
            members,
            is_complete,
        }
    }

    fn is_complete(&self) -> bool {
        match self {
            Self::Container { is_complete, .. } => *is_complete,
            Self::Text(_) => true,
            Self::Literal(text) => !text.is_empty(),
        }
    }

    fn is_number(&self) -> bool {
        matches!(self, Self::Literal(text) if text.starts_with(|c: char| c == '-' || c.is_ascii_digit()))
    }

    fn as_text(&self) -> Option<&str> {
        if let Self::Text(text) = self {
            Some(text)
        } else {
            None
        }
    }
}

/// Writes a parsed text as compact JSON, with secrets redacted.
struct RedactingWriter<'r> {
    rules: &'r RedactionRules,
    /// The number of further levels at which a string is parsed as JSON.
    nesting: u8,
    /// The JSON pointer of the current node, for custom rules.
    pointer: String,
    json: String,
}

impl RedactingWriter<'_> {
    /// Writes a node. `pointers`: what is left of the rules' pointers that lead here.
    fn value(&mut self, node: &JsonNode<'_>, is_secret: bool, pointers: &[&[String]]) {
        if is_secret || pointers.iter().any(|rest| rest.is_empty()) || self.is_hidden_by_rule(node)
        {
            return push_quoted(&mut self.json, REDACTED);
        }
        match node {
            JsonNode::Container {
                is_object,
                members,
                is_complete,
            } => {
                self.json.push(if *is_object { '{' } else { '[' });
                if *is_object {
                    self.object(members, *is_complete, pointers);
                } else {
                    let mut option = None;
                    for (index, (_, item)) in members.iter().enumerate() {
                        self.comma(index);
                        // The arguments of a command: `["--token", "secret"]`.
                        let is_secret =
                            option.is_some_and(|option| self.follows_secret_option(option, item));
                        self.child(itoa::Buffer::new().format(index), item, is_secret, pointers);
                        option = item.as_text();
                    }
                }
                // A container that breaks off stays open.
                if *is_complete {
                    self.json.push(if *is_object { '}' } else { ']' });
                }
            }
            JsonNode::Text(text) => {
                let shown = self.text(text);
                push_quoted(&mut self.json, &shown);
            }
            JsonNode::Literal(text) => self.json.push_str(text),
        }
    }

    fn object(
        &mut self,
        members: &[(Key<'_>, JsonNode<'_>)],
        is_complete: bool,
        pointers: &[&[String]],
    ) {
        let keys = members
            .iter()
            .map(|(key, _)| normalize(key))
            .collect::<Vec<_>>();
        let names = keys
            .iter()
            .zip(members)
            .filter(|(key, _)| matches!(key.as_str(), "name" | "key" | "header"));
        let names = names
            .filter_map(|(_, (_, name))| name.as_text().map(normalize))
            .collect::<Vec<_>>();
        // In an object that breaks off, the name may follow the value.
        let may_be_named = names.is_empty() && !is_complete;
        let names_secret = |is_number| {
            may_be_named
                || names
                    .iter()
                    .any(|name| self.rules.is_secret(name, is_number))
        };
        let hides_value = names_secret(false);
        let hides_number = names_secret(true);
        for (index, ((key, value), normalized)) in members.iter().zip(&keys).enumerate() {
            self.comma(index);
            push_quoted(&mut self.json, &self.rules.redact_text(key));
            self.json.push(':');
            let number = value.is_number();
            let is_named = matches!(normalized.as_str(), "value" | "values");
            let is_named_secret = is_named && if number { hides_number } else { hides_value };
            self.child(
                key,
                value,
                is_named_secret || self.rules.is_secret(normalized, number),
                pointers,
            );
        }
    }

    fn follows_secret_option(&self, option: &str, item: &JsonNode<'_>) -> bool {
        let is_value = |value| !is_option_or_count(option, value);
        names_option(option)
            && self.rules.is_secret(&normalize(option), item.is_number())
            && item.as_text().is_none_or(is_value)
    }

    fn comma(&mut self, index: usize) {
        if index > 0 {
            self.json.push(',');
        }
    }

    /// Writes the node at a key or an index of the current one.
    fn child(
        &mut self,
        segment: &str,
        node: &JsonNode<'_>,
        is_secret: bool,
        pointers: &[&[String]],
    ) {
        let pointers = pointers.iter().filter_map(|pointer| pointer.split_first());
        let pointers = pointers.filter(|(first, _)| *first == "*" || *first == segment);
        let pointers = pointers.map(|(_, rest)| rest).collect::<Vec<_>>();
        let length = self.pointer.len();
        if !self.rules.custom.is_empty() {
            self.pointer.push('/');
            self.pointer
                .push_str(&segment.replace('~', "~0").replace('/', "~1"));
        }
        self.value(node, is_secret, &pointers);
        self.pointer.truncate(length);
    }

    fn is_hidden_by_rule(&self, node: &JsonNode<'_>) -> bool {
        let content = if let JsonNode::Literal(text) = node {
            Some(*text)
        } else {
            node.as_text()
        };
        content.is_some_and(|content| {
            self.rules
                .custom
                .iter()
                .any(|rule| (rule.0)(&self.pointer, content))
        })
    }

    /// Redacts a string, which may hold JSON itself.
    fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.nesting > 0
            && !self.rules.is_empty()
            && text.trim_start().starts_with(['{', '[', '"'])
        {
            let (json, is_complete) = self.rules.redact_json(text, self.nesting - 1);
            if is_complete {
                return Cow::Owned(json);
            }
        }
        self.rules.redact_text(text)
    }
}

/// Writes a text as a JSON string, with invisible characters escaped.
fn push_quoted(json: &mut String, text: &str) {
    let start = json.len();
    push_string(json, text);
    if text.contains(is_invisible) {
        let quoted = json.split_off(start);
        json.push_str(&escape_invisible_json(&quoted));
    }
}
