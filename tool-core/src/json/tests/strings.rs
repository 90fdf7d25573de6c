//! Strings: borrowed without escapes, and no half characters.

use crate::json::decoder::Decoder;
use crate::json::keys::Key;
use crate::json::tests::{decode, refuses, takes};
use serde::Deserialize;
use serde::de::IgnoredAny;

#[test]
fn text_without_an_escape_is_borrowed() {
    let text = "\"a longer text, with ä and \u{1F600}, past one word\"";
    assert_eq!(
        <&str>::deserialize(&mut Decoder::new(text)).ok(),
        text.get(1..text.len() - 1)
    );
}

#[test]
fn every_escape_is_read() {
    assert!(takes(
        r#""\"\\\/\b\f\n\r\t\u0041\u00e4\ud83d\uDE00 end""#,
        "\"\\/\u{8}\u{c}\n\r\tAä\u{1F600} end".to_owned()
    ));
}

#[test]
fn an_unknown_escape_is_refused() {
    for text in [
        r#""\x41""#,
        r#""\u12""#,
        r#""\u12g4""#,
        r#""\u+123""#,
        r#""\U0041""#,
        r#""\"#,
        r#""\""#,
        "\"\\ä\"",
    ] {
        assert!(
            refuses::<String>(text) && refuses::<IgnoredAny>(text),
            "{text}"
        );
    }
}

#[test]
fn a_lone_surrogate_is_refused_even_where_nobody_reads_it() {
    for text in [
        r#""\ud800""#,
        r#""\udc00""#,
        r#""\ud800\ud800""#,
        r#""\ud800x""#,
        r#""\ud800\n""#,
        r#""\ude00\ud83d""#,
    ] {
        assert!(
            refuses::<String>(text) && refuses::<IgnoredAny>(text),
            "{text}"
        );
    }
}

#[test]
fn a_control_character_is_refused_at_every_offset() {
    for length in 0..20 {
        for control in ['\0', '\n', '\t', '\u{1f}'] {
            let text = format!("\"{}{control}more than a word\"", "a".repeat(length));
            assert!(
                refuses::<String>(&text) && refuses::<IgnoredAny>(&text),
                "{text:?}"
            );
        }
    }
    assert!(takes(
        "\"\u{7f} \u{80}\u{20}\u{21}\u{23}[]\"",
        "\u{7f} \u{80}\u{20}\u{21}\u{23}[]".to_owned()
    ));
}

#[test]
fn the_end_of_a_string_is_found_at_every_offset_and_length_of_the_rest() {
    for length in 0..40 {
        for rest in 0..10 {
            let text = format!("\"{}\"{}", "ä!".repeat(length), " ".repeat(rest));
            assert!(takes(&text, "ä!".repeat(length)), "{text}");
        }
    }
}

#[test]
fn an_unended_string_is_refused() {
    for text in [
        "\"",
        "\"a",
        "\"eight by",
        "\"eight byt\\",
        "\"eight bytes and more",
    ] {
        assert!(refuses::<String>(text), "{text}");
    }
}

#[test]
fn a_byte_order_mark_is_refused() {
    assert!(refuses::<String>("\u{feff}\"a\""));
}

#[test]
fn text_is_read_from_text_only() {
    for text in ["1", "true", "null", "[\"a\"]", "{\"a\":1}", "'a'", "a"] {
        assert!(refuses::<String>(text), "{text}");
    }
}

#[test]
fn keys_are_borrowed_unless_they_hold_an_escape() {
    let mut decoder = Decoder::new(r#"{"plain":1,"esc\u0061ped":2}"#);
    assert!(decoder.begin_object().is_ok());
    assert!(matches!(
        decoder.next_key(true),
        Ok(Some(Key::Borrowed("plain")))
    ));
    assert!(decoder.raw().is_ok());
    assert!(matches!(decoder.next_key(false), Ok(Some(Key::Owned(key))) if key == "escaped"));
}

#[test]
fn a_field_is_known_by_an_escaped_key_too() {
    #[derive(Deserialize)]
    struct Named {
        name: String,
    }
    assert!(decode::<Named>(r#"{"n\u0061me":"x"}"#).is_ok_and(|named| named.name == "x"));
}
