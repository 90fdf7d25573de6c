//! Values taken out of a message that may quote them.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use serde_json::Value;
use zeroize::{Zeroize, Zeroizing};

/// Texts that no message may show. Wiped when they go.
pub(crate) struct Hidden(Vec<String>);

impl Hidden {
    /// The texts of settings: as they stand there, as `{:?}` and JSON write them, and as they stand in a URL. Numbers may
    /// be shown.
    pub(crate) fn of_settings(settings: &Value) -> Self {
        let mut forms = Vec::new();
        collect(settings, &mut |text, is_text| {
            if is_text {
                forms.extend(plain_forms(text));
            }
        });
        Self::new(forms)
    }

    /// The texts and numbers of secrets that are long enough to tell something: shorter ones stand in any sentence. In
    /// base64 too, by themselves and amid other text (`user:password`).
    pub(crate) fn of_secrets(secrets: &Value) -> Self {
        let mut forms = Vec::new();
        collect(secrets, &mut |text, _| {
            if text.chars().count() >= TELLING {
                forms.extend(plain_forms(text));
                forms.extend(base64_forms(text));
            }
        });
        Self::new(forms)
    }

    /// The longest first, so that what is left of one does not show the rest of another.
    fn new(mut texts: Vec<String>) -> Self {
        texts.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        texts.dedup();
        Self(texts)
    }

    /// The message with each of them replaced. One of a few letters only where it stands as a word of its own, or the
    /// message would be unreadable.
    pub(crate) fn removed_from(&self, message: &str) -> String {
        self.0.iter().fold(message.to_owned(), |message, text| match text.chars().count() {
            0 => message,
            1..4 => word_removed(&message, text),
            _ => message.replace(text.as_str(), MARK),
        })
    }
}

const MARK: &str = "[hidden]";
/// The characters from which on a secret is taken out of messages.
const TELLING: usize = 4;

/// The texts and numbers in a value, and which is a text.
fn collect(value: &Value, found: &mut dyn FnMut(&str, bool)) {
    match value {
        Value::String(text) => found(text, true),
        Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        Value::Object(members) => members.values().for_each(|member| collect(member, found)),
        Value::Number(number) => found(&Zeroizing::new(number.to_string()), false),
        Value::Null | Value::Bool(_) => {}
    }
}

fn word_removed(message: &str, word: &str) -> String {
    let mut shown = String::with_capacity(message.len());
    let mut rest = message;
    while let Some((before, after)) = rest.split_once(word) {
        shown.push_str(before);
        let joined = shown.ends_with(char::is_alphanumeric) || after.starts_with(char::is_alphanumeric);
        shown.push_str(if joined { word } else { MARK });
        rest = after;
    }
    shown.push_str(rest);
    shown
}

fn plain_forms(text: &str) -> [String; 3] {
    [text.to_owned(), text.escape_debug().to_string(), percent_encoded(text)]
}

/// As it stands in the query or the user name of a URL.
fn percent_encoded(text: &str) -> String {
    let encoded = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    text.bytes().map(encoded).collect()
}

/// What stands in base64 wherever the text begins in what is encoded, in both alphabets. The characters that it shares
/// with its neighbours are left out, and so are forms so short that they stand in other words.
fn base64_forms(text: &str) -> Vec<String> {
    let mut forms = Vec::new();
    for before in 0..3_usize {
        let mut bytes = Zeroizing::new(vec![0; before]);
        bytes.extend_from_slice(text.as_bytes());
        // At its end it may end what is encoded, or not.
        let (first, bits) = ((before * 8).div_ceil(6), bytes.len() * 8);
        for alphabet in [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
            let encoded = Zeroizing::new(alphabet.encode(&*bytes));
            let ends = [bits / 6, bits.div_ceil(6)];
            forms.extend(ends.iter().filter_map(|end| encoded.get(first..*end)).map(str::to_owned));
        }
    }
    forms.retain(|form| form.len() >= SHORTEST_BASE64);
    forms
}

const SHORTEST_BASE64: usize = 5;

impl Drop for Hidden {
    fn drop(&mut self) {
        self.0.iter_mut().for_each(Zeroize::zeroize);
    }
}
