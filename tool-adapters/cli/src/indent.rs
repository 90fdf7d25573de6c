//! JSON for people: a line for each member and each item.

use tool_core::json::StringScanner;

/// The blanks before the members of an object and the items of an array.
const INDENT: &str = "  ";

/// Indents JSON. Each value keeps its text, and so each number all of its digits.
pub(crate) fn indented(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    let mut scanner = StringScanner::default();
    let mut depth = 0_usize;
    let mut is_opened = false;
    for c in json.chars() {
        // All that is outside of strings is ASCII.
        let is_outside = u8::try_from(c).is_ok_and(|byte| byte.is_ascii() && scanner.step(byte));
        if is_outside && c.is_ascii_whitespace() {
            continue;
        }
        let closes = is_outside && matches!(c, '}' | ']');
        if closes {
            depth = depth.saturating_sub(1);
        }
        if is_opened != closes {
            begin_line(&mut text, depth);
        }
        is_opened = is_outside && matches!(c, '{' | '[');
        text.push(c);
        match c {
            '{' | '[' if is_outside => depth += 1,
            ',' if is_outside => begin_line(&mut text, depth),
            ':' if is_outside => text.push(' '),
            _ => {}
        }
    }
    text
}

fn begin_line(text: &mut String, depth: usize) {
    text.push('\n');
    text.push_str(&INDENT.repeat(depth));
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn indents_as_serde_json_does() {
        for value in [
            json!({"a": [1, {"b": "x, {y}: \"z\" é"}], "c": {}, "d": [], "e": [[null]]}),
            json!([]),
            json!([true, -1.5]),
            json!(7),
        ] {
            let expected = serde_json::to_string_pretty(&value).expect("JSON");
            assert_eq!(indented(&value.to_string()), expected);
            assert_eq!(indented(&expected), expected);
        }
    }

    #[test]
    fn numbers_keep_their_digits() {
        let json = r#"{"n":1267650600228229401496703205376,"m":[1.10]}"#;
        let text = indented(json);
        assert!(text.contains("1267650600228229401496703205376"), "{text}");
        assert!(text.contains("1.10") && serde_json::from_str::<Value>(&text).is_ok());
    }
}
