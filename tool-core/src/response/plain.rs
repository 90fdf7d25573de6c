//! The envelope's text where there is nothing rare to say: written member by member, without a serializer.
//!
//! Nearly every response is such a one, and a serializer costs more than half of what the call itself does. A test
//! holds this text to the serialised one.

use super::meta::{Meta, SCHEMA_VERSION, word_of};
use super::write::push_string;
use std::time::Duration;

/// What stands around the members that differ.
const MEMBERS: usize = 192;

/// The envelope of a success without intents and without rare members of `meta`.
pub(super) fn success(data: &str, meta: &Meta<'_>) -> String {
    let mut text = String::with_capacity(data.len() + meta.tool().len() + MEMBERS);
    text.push_str(r#"{"ok":true,"data":"#);
    text.push_str(data);
    text.push_str(r#","intents":[],"meta":{"schemaVersion":""#);
    text.push_str(SCHEMA_VERSION);
    text.push_str(r#"","tool":"#);
    push_string(&mut text, meta.tool());
    text.push_str(r#","callId":"#);
    match meta.call_id() {
        Some(id) => push_string(&mut text, id),
        None => text.push_str("null"),
    }
    text.push_str(r#","durationMs":"#);
    milliseconds(&mut text, meta.duration());
    let size = meta.size_chars();
    text.push_str(r#","sizeChars":"#);
    number(&mut text, size);
    text.push_str(r#","tokenEstimate":"#);
    number(&mut text, size.div_ceil(4));
    if let Some(form) = word_of(meta.form) {
        text.push_str(r#","form":""#);
        text.push_str(form);
        text.push('"');
    }
    text.push_str("}}");
    text
}

fn number(text: &mut String, value: usize) {
    if value > 9 {
        number(text, value / 10);
    }
    text.push(digit(value % 10));
}

fn digit(value: usize) -> char {
    u8::try_from(value).map_or('0', |value| char::from(b'0' + value % 10))
}

/// Whole microseconds as milliseconds, as a float of that value is written.
fn milliseconds(text: &mut String, duration: Duration) {
    let micros = super::meta::micros(duration) as usize;
    number(text, micros / 1000);
    text.push('.');
    let [tenths, hundredths, thousandths] = [micros / 100 % 10, micros / 10 % 10, micros % 10];
    text.push(digit(tenths));
    if hundredths != 0 || thousandths != 0 {
        text.push(digit(hundredths));
    }
    if thousandths != 0 {
        text.push(digit(thousandths));
    }
}

#[cfg(test)]
mod tests {
    use crate::response::{Form, Slim, ToolResponse};
    use std::time::Duration;

    fn same(data: &str, tool: &str, call_id: Option<&str>, micros: u64) {
        let slim = Slim {
            tool: tool.into(),
            call_id: call_id.map(Into::into),
            duration: Duration::from_micros(micros),
            rare: None,
        };
        let mut response = ToolResponse { body: Ok(data.to_owned()), form: Form::Data, slim };
        for form in [Form::Data, Form::Unit, Form::Content, Form::Stop] {
            response.form = form;
            assert_eq!(Some(response.to_json()), serde_json::to_string(&response).ok());
        }
    }

    // R-E1
    #[test]
    fn the_plain_envelope_is_the_serialised_one() {
        for micros in
            [0, 1, 10, 12, 100, 120, 123, 999, 1_000, 1_500, 65_001, 10_000_000, u64::from(u32::MAX), u64::MAX / 4]
        {
            same("null", "noop", None, micros);
        }
    }

    #[test]
    fn names_and_ids_are_escaped_as_a_serializer_would() {
        for text in ["", "call_1", "a\"b", "a\\b", "a\nb", "\u{0}", "\u{7f}", "caf\u{e9} \u{1F600}"] {
            same(r#"{"a":[1,2]}"#, text, Some(text), 7);
        }
    }

    #[test]
    fn sizes_count_scalars() {
        for data in ["\"\u{e9}\u{e9}\"", "\"\u{1F600}\"", "0", "\"0123456789\""] {
            same(data, "t", None, 7);
        }
    }
}
