//! One text for each JSON value: equal values have the same text, different values different ones.
//!
//! Keys are sorted by their bytes, numbers are written by their exact value (`1.0` and `1e0` are `1`, an integer beyond
//! 2^53 is not rounded), and there is no white space. It is what versions are hashed from and what calls are compared by.

use crate::schema::numbers::exact;
use serde_json::{Number, Value};
use sha2::{Digest, Sha256};

/// The canonical text of a value.
pub(crate) fn canonical(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    text
}

/// The first 8 hexadecimal digits of the SHA-256 of the canonical text.
pub(crate) fn short_hash(value: &Value) -> String {
    let digest = Sha256::digest(canonical(value));
    let head = digest.iter().take(4).fold(0_u32, |head, byte| head << 8 | u32::from(*byte));
    format!("{head:08x}")
}

fn write(value: &Value, text: &mut String) {
    match value {
        Value::Array(items) => {
            list(text, ['[', ']'], items, write);
        }
        Value::Object(map) => {
            // Another crate of the build may have chosen maps that keep the order of insertion.
            let mut entries = map.iter().collect::<Vec<_>>();
            entries.sort_unstable_by_key(|(key, _)| *key);
            list(text, ['{', '}'], entries, |(key, value), text| {
                quote(key, text);
                text.push(':');
                write(value, text);
            });
        }
        Value::Number(number) => write_number(number, text),
        Value::String(string) => quote(string, text),
        // Literals have one spelling.
        Value::Null => text.push_str("null"),
        Value::Bool(value) => text.push_str(if *value { "true" } else { "false" }),
    }
}

fn list<T>(
    text: &mut String,
    [open, close]: [char; 2],
    items: impl IntoIterator<Item = T>,
    each: impl Fn(T, &mut String),
) {
    text.push(open);
    for (at, item) in items.into_iter().enumerate() {
        if at > 0 {
            text.push(',');
        }
        each(item, text);
    }
    text.push(close);
}

fn write_number(number: &Number, text: &mut String) {
    match exact(number) {
        Some(whole) => text.push_str(&whole.to_string()),
        None => text.push_str(&number.to_string()),
    }
}

fn quote(string: &str, text: &mut String) {
    // Of all that serde_json writes, text has one escape for each character.
    text.push_str(&Value::from(string).to_string());
}
