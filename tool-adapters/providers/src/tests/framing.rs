//! Bytes cut anywhere are the same JSON texts.

use crate::event::ProtocolError;
use crate::framing::frame::{Frame, MAX_EVENT_BYTES};
use crate::framing::framer::Framer;
use proptest::prelude::*;
use serde::de::IgnoredAny;

/// Returns the frames in short: an event is its name, if any, and its text.
fn frames<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<String> {
    let mut frames = Vec::new();
    let mut sink = |frame: Frame<'_>| {
        if let Frame::Attempt(text) = frame
            && serde_json::from_str::<IgnoredAny>(text).is_err()
        {
            return false;
        }
        frames.push(match frame {
            Frame::Event {
                text,
                has_halves: true,
                ..
            } => format!("halves {text}"),
            Frame::Event { name: "", text, .. } | Frame::Attempt(text) => text.to_owned(),
            Frame::Event { name, text, .. } => format!("{name}: {text}"),
            Frame::Done => "DONE".to_owned(),
            Frame::Problem(ProtocolError::Malformed { text, .. }) => format!("malformed {text}"),
            Frame::Problem(ProtocolError::Truncated { .. }) => "truncated".to_owned(),
            Frame::Problem(error) => error.to_string(),
        });
        true
    };
    let mut decoder = Framer::default();
    for chunk in chunks {
        decoder.push(chunk, &mut sink);
    }
    decoder.finish(&mut sink);
    frames
}

/// The frames of a stream, which are the same wherever it is cut.
fn read(bytes: &[u8]) -> Vec<String> {
    let whole = frames([bytes]);
    assert_eq!(frames(bytes.chunks(1)), whole, "one byte at a time");
    for at in 0..=bytes.len() {
        let (before, after) = bytes.split_at(at);
        assert_eq!(frames([before, after]), whole, "cut at {at}");
    }
    whole
}

#[test]
fn an_event_is_its_data_without_the_other_fields() {
    let stream = "retry: 5\nid: 7\n: a comment\nevent: delta\ndata: {\"ä\":1}\n\ndata:{\"b\":2}\n\ndata: [DONE]\n\n";
    assert_eq!(
        read(stream.as_bytes()),
        ["delta: {\"ä\":1}", "{\"b\":2}", "DONE"]
    );
}

#[test]
fn lines_may_end_in_any_way() {
    for end in ["\n", "\r\n", "\r"] {
        let stream = "event: a|data: {\"x\":|data: 1}||data: {\"y\":2}||".replace('|', end);
        assert_eq!(
            read(stream.as_bytes()),
            ["a: {\"x\":\n1}", "{\"y\":2}"],
            "{end:?}"
        );
    }
}

#[test]
fn a_byte_order_mark_is_passed_over() {
    assert_eq!(read("\u{FEFF}data: {}\n\n".as_bytes()), ["{}"]);
    assert_eq!(read("\u{FEFF}{}".as_bytes()), ["{}"]);
}

#[test]
fn a_last_event_without_its_blank_line_counts() {
    for stream in ["data: {\"a\":1}\n", "data: {\"a\":1}"] {
        assert_eq!(read(stream.as_bytes()), ["{\"a\":1}"]);
    }
    assert_eq!(read(b"data: [DONE]"), ["DONE"]);
}

#[test]
fn a_whole_answer_is_one_text_pretty_or_not() {
    let pretty = "\n {\n  \"a\": [1, {\"b\": \"}\\\"]\"}],\r\n  \"c\": []\n}\n";
    assert_eq!(read(pretty.as_bytes()), [pretty.trim()]);
}

#[test]
fn values_may_follow_one_another_in_lines_or_not() {
    assert_eq!(
        read(b"{\"a\":1}\n{\"b\":2}\r\n\r\n{\"c\":3}{\"d\":4} {\"e\":5}"),
        {
            [
                "{\"a\":1}",
                "{\"b\":2}",
                "{\"c\":3}",
                "{\"d\":4}",
                "{\"e\":5}",
            ]
        }
    );
}

#[test]
fn an_array_is_its_items() {
    assert_eq!(
        read(b"[{\"a\":[1]}\n,\r\n{\"b\":2},[3]]\n{\"c\":4}"),
        ["{\"a\":[1]}", "{\"b\":2}", "[3]", "{\"c\":4}"]
    );
    assert_eq!(read(b"[{\"a\":1},"), ["{\"a\":1}", "truncated"]);
}

#[test]
fn data_lines_without_blank_lines_are_separate_events() {
    assert_eq!(
        read(b"data: {\"a\":1}\ndata: {\"b\":2}\ndata: [DONE]\n\n"),
        ["{\"a\":1}", "{\"b\":2}", "DONE"]
    );
}

#[test]
fn json_amid_events_is_read_too() {
    assert_eq!(
        read(b"data: {\"a\":1}\n\n{\"error\":\n 1}\ndata: {\"b\":2}\n\n"),
        { ["{\"a\":1}", "{\"error\":\n 1}", "{\"b\":2}"] }
    );
}

#[test]
fn what_is_no_json_is_told_and_reading_goes_on() {
    for (stream, expected) in [
        ("<html>\n{\"a\":1}", ["malformed <html>", "{\"a\":1}"]),
        (
            "{\"a\":\"b\n{\"c\":1}",
            ["malformed {\"a\":\"b", "{\"c\":1}"],
        ),
        (
            "{\"a\":[1\n{\"c\":1}",
            ["malformed {\"a\":[1\n", "{\"c\":1}"],
        ),
        (
            "{\"a\":[1}]}\n{\"c\":1}",
            ["malformed {\"a\":[1", "{\"c\":1}"],
        ),
        (
            "{\"a\":1,\n{\"c\":1}",
            ["malformed {\"a\":1,\n", "{\"c\":1}"],
        ),
        (
            "upstream error: reset\n\ndata: {\"c\":1}",
            ["malformed upstream error: reset", "{\"c\":1}"],
        ),
    ] {
        assert_eq!(read(stream.as_bytes()), expected);
    }
}

#[test]
fn data_that_is_no_json_is_handed_on_for_the_reader_to_refuse() {
    assert_eq!(read(b"data: oops\n\ndata: {}\n\n"), ["oops", "{}"]);
}

// M2
#[test]
fn bytes_that_are_not_utf_8_become_halves_of_characters() {
    assert_eq!(read(b"data: \"\xFF\"\n\n{\"a\":\"\xC3\"}"), {
        ["halves \"\u{10F7FF}\"", "halves {\"a\":\"\u{10F7C3}\"}"]
    });
    assert_eq!(
        read(b"data: {\"a\":\"b\xFFc\"}\n\n"),
        ["malformed {\"a\":\"b\u{FFFD}c\"}"]
    );
}

// M1
#[test]
fn lines_of_data_without_a_last_blank_line_count() {
    assert_eq!(
        read(b"data: {\"a\":1}\ndata: {\"b\":2}\n"),
        ["{\"a\":1}", "{\"b\":2}"]
    );
    assert_eq!(
        read(b"data: {\"a\":1}\ndata: [DONE]"),
        ["{\"a\":1}", "DONE"]
    );
    assert_eq!(read(b"data: {\"a\":\ndata: 1}"), ["{\"a\":\n1}"]);
    assert_eq!(
        read(b"data: {\"a\":1}\ndata: {\"b\":"),
        ["truncated"],
        "the second one is cut off"
    );
}

#[test]
fn a_stream_that_ends_in_the_middle_of_an_event_is_cut_off() {
    for stream in [
        "{\"a\":",
        "[",
        "data: {\"a\":\n",
        "data: {",
        "data:",
        "da",
        "event: a\n",
        "\u{FEFF}{",
    ] {
        assert_eq!(read(stream.as_bytes()), ["truncated"], "{stream:?}");
    }
    for stream in ["", "\n", ": still here", "{}\n\n", "\u{FEFF}"] {
        assert!(
            !read(stream.as_bytes()).contains(&"truncated".to_owned()),
            "{stream:?}"
        );
    }
}

#[test]
fn a_foreign_field_is_passed_over() {
    assert_eq!(read(b"x-trace: 5\ndata: {}\n\n"), ["{}"]);
}

#[test]
fn a_date_is_no_damaged_data() {
    let stream = b"date: Mon, 30 Nov 2026 12:00:00 GMT\ndata: {}\n\n";
    assert_eq!(read(stream), ["{}"]);
    assert_eq!(read(b"date: {}\n\n"), ["malformed date: {}"]);
}

#[test]
fn an_event_that_is_too_large_is_passed_over() {
    let large = vec![b'x'; MAX_EVENT_BYTES];
    let text = [b"{\"a\":\"".as_slice(), &large, b"\"}"].concat();
    let error = format!("an event is larger than {MAX_EVENT_BYTES} bytes");
    for stream in [
        [b"data: ".as_slice(), &text, b"\n\ndata: {}\n\n"].concat(),
        [
            b"data: ".as_slice(),
            &large,
            b"\ndata: 1\ndata: 2\n\ndata: {}\n\n",
        ]
        .concat(),
        [text.as_slice(), b"{}"].concat(),
        [b"[".as_slice(), &text, b",{}]"].concat(),
        [vec![b'['; MAX_EVENT_BYTES + 9].as_slice(), b"\n{}]"].concat(),
    ] {
        let read = frames(stream.chunks(100_000));
        assert_eq!(
            read.last().map(String::as_str),
            Some("{}"),
            "{:?}",
            &stream[..10]
        );
        assert!(
            read.len() <= 3 && read.contains(&error) || read[0].starts_with("malformed ["),
            "{:?}",
            &stream[..10]
        );
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_the_same_wherever_they_are_cut(
        parts in prop::collection::vec(prop_oneof![
            prop::sample::select(vec![
                "data: ", "event: a", ":", "\n", "\r", "\n\n", "{", "}", "[", "]", "\"", "\\", ",", "[DONE]", "{}", "ä",
                "\u{FEFF}", " ", "1", "data: {\"a\":1}\n\n", "{\"a\":\"\\\"\"}",
            ]).prop_map(|text: &str| text.as_bytes().to_vec()),
            prop::collection::vec(any::<u8>(), 0..4),
        ], 0..24),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let bytes = parts.concat();
        let mut cuts = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect::<Vec<_>>();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let chunks = cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]]);
        prop_assert_eq!(frames(chunks), frames([bytes.as_slice()]));
    }
}
