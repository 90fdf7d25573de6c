//! Results that are shortened because they are old.

use crate::call::{Content, ModelResult};
use crate::session::message::Message;
use crate::text::characters;
use std::ops::Range;

/// The text of a result whose data is left out.
pub(crate) fn text_of(result: &ModelResult) -> String {
    let Some(parts) = result.content() else {
        return result.text.clone();
    };
    let texts = parts.iter().map(|part| match part {
        Content::Text { text } => text.clone(),
        Content::Image { mime_type, .. } | Content::Audio { mime_type, .. } => {
            format!("({mime_type}, left out)")
        }
        Content::Resource { .. } => "(a resource, left out)".to_owned(),
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Shortens the results among some messages. Returns how many were longer.
pub(crate) fn shorten_results(
    messages: &mut [Message],
    range: Range<usize>,
    max_chars: usize,
) -> usize {
    let mut shortened = 0;
    for message in messages.get_mut(range).unwrap_or_default() {
        if let Message::Result { result, .. } = message
            && let Some(text) = shorter(result, max_chars)
        {
            result.text = text;
            result.parts = false;
            result.is_text = true;
            shortened += 1;
        }
    }
    shortened
}

/// Returns a shorter text of a result; `None` for one that is short enough.
pub(crate) fn shorter(result: &ModelResult, max_chars: usize) -> Option<String> {
    // The count of bytes is never below that of characters.
    if result.text.len() <= max_chars {
        return None;
    }
    let text = text_of(result);
    let total = characters(&text);
    if total <= max_chars {
        return result.parts.then_some(text);
    }
    let kept = prefix_of_characters(&text, max_chars);
    let left_out = total - characters(kept);
    Some(format!("{kept} [{left_out} more characters, left out]"))
}

pub(crate) fn prefix_of_characters(text: &str, count: usize) -> &str {
    let end = text.char_indices().nth(count).map(|(at, _)| at);
    end.and_then(|end| text.get(..end)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(text: &str, parts: bool) -> Message {
        Message::Result {
            call_id: "1".into(),
            tool: "look".into(),
            result: ModelResult {
                text: text.into(),
                is_error: false,
                reply: true,
                parts,
                is_text: false,
                goes_on: false,
            },
        }
    }

    fn texts(messages: &[Message]) -> Vec<&str> {
        let results = messages.iter().filter_map(|message| match message {
            Message::Result { result, .. } => Some(result.text.as_str()),
            _ => None,
        });
        results.collect()
    }

    #[test]
    fn a_long_result_says_how_much_is_left_out() {
        let mut messages = [result("äöüäöüäöü", false), result("short", false)];
        assert_eq!(shorten_results(&mut messages, 0..2, 5), 1);
        let expected = ["äöüäö [4 more characters, left out]", "short"];
        assert_eq!(texts(&messages), expected);
    }

    #[test]
    fn the_data_of_a_long_result_is_left_out() {
        let parts = r#"[{"type":"text","text":"A chart"},{"type":"image","data":"AAAA","mimeType":"image/png"}]"#;
        let mut messages = [result(parts, true)];
        assert_eq!(shorten_results(&mut messages, 0..1, 50), 1);
        assert_eq!(texts(&messages), ["A chart\n(image/png, left out)"]);
        let Message::Result { result, .. } = &messages[0] else {
            panic!("expected a result")
        };
        assert!(result.is_text && !result.parts);
    }
}
