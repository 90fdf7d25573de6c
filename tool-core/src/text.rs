//! Texts for people and models: truncation, first sentences, hexadecimal digits, names, and the JSON
//! in an answer.

use serde::de::IgnoredAny;
use std::any::Any;
use std::borrow::{Borrow, Cow};
use std::fmt;
use std::fmt::Write as _;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

/// Returns the first `limit` characters of `text`, followed by `...` if the text is longer.
///
/// Characters are Unicode scalars, so none is cut in the middle. Use it for long texts inside a
/// result, for example the body of a letter.
///
/// ```
/// use tool_core::text::truncate;
///
/// assert_eq!(truncate("a short one", 500), "a short one");
/// assert_eq!(truncate("Größenordnung", 5), "Größe...");
/// ```
#[must_use]
pub fn truncate(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
    }
}

/// Returns the longest start of a text that has at most this number of bytes and cuts no character.
#[inline]
pub(crate) fn prefix(text: &str, bytes: usize) -> &str {
    if text.len() <= bytes {
        return text;
    }
    let mut end = bytes;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

/// Counts the characters (Unicode scalars) of a text. Nearly all results are ASCII, and checking
/// for ASCII costs a tenth of counting.
#[inline]
pub(crate) fn characters(text: &str) -> usize {
    if text.is_ascii() {
        text.len()
    } else {
        text.chars().count()
    }
}

/// Returns the first sentence of the first paragraph, on one line.
pub(crate) fn first_sentence(text: &str) -> String {
    let lines = text
        .lines()
        .map(str::trim)
        .skip_while(|line| line.is_empty());
    let paragraph = lines
        .take_while(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join(" ");
    let end = sentence_end(&paragraph);
    paragraph.get(..end).unwrap_or(&paragraph).to_owned()
}

/// Returns the end of the first sentence: after a full stop before a blank, unless the text
/// continues in lower case or the stop belongs to an abbreviation.
fn sentence_end(text: &str) -> usize {
    for (at, stop) in text
        .char_indices()
        .filter(|(_, c)| matches!(c, '.' | '!' | '?' | '。'))
    {
        let end = at + stop.len_utf8();
        let before = text.get(..end).unwrap_or_default();
        let after = text.get(end..).unwrap_or_default();
        let next = after.trim_start().chars().next();
        let continues = next.is_some_and(char::is_lowercase)
            || (stop != '。' && !after.starts_with([' ', '\t']));
        let abbreviated = ["e.g.", "i.e.", "etc.", "vs.", "cf.", "approx."]
            .iter()
            .any(|word| before.ends_with(word));
        if next.is_some() && !continues && !abbreviated {
            return end;
        }
    }
    text.len()
}

/// Returns the text of a panic, unchanged.
pub(crate) fn of_panic(panic: Box<dyn Any + Send>) -> String {
    let text = panic.downcast::<String>().map(|text| *text);
    let text = text.or_else(|other| {
        other
            .downcast::<&'static str>()
            .map(|text| (*text).to_owned())
    });
    text.unwrap_or_else(|other| {
        // Dropping an unknown payload may panic again.
        std::mem::forget(other);
        "a value that is not a text".to_owned()
    })
}

/// Escapes the characters of a text that a person does not see or that change the order in which
/// others are shown, as Rust writes them. For texts of models and of other programs that a person
/// reads.
///
/// ```
/// assert_eq!(tool_core::text::escape_invisible("user\u{202e}fdp.exe\n"), r"user\u{202e}fdp.exe\n");
/// ```
#[must_use]
pub fn escape_invisible(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if is_invisible(c) {
            escaped.extend(c.escape_default());
        } else {
            escaped.push(c);
        }
    }
    escaped
}

/// Escapes the same characters in a JSON text as JSON writes them, so that the text means the same.
/// Line ends and blanks stay.
///
/// ```
/// use tool_core::text::escape_invisible_json;
///
/// assert_eq!(escape_invisible_json("[\"user\u{202e}fdp.exe\"]\n"), "[\"user\\u202efdp.exe\"]\n");
/// ```
#[must_use]
pub fn escape_invisible_json(json: &str) -> Cow<'_, str> {
    // A control character in a string of JSON is escaped already, so that one is between values.
    let is_hidden = |c: char| is_invisible(c) && !c.is_ascii_control() || c == '\u{7f}';
    if !json.contains(is_hidden) {
        return Cow::Borrowed(json);
    }
    let mut escaped = String::with_capacity(json.len());
    for c in json.chars() {
        if is_hidden(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a String cannot fail.
                let _ = write!(escaped, "\\u{unit:04x}");
            }
        } else {
            escaped.push(c);
        }
    }
    Cow::Owned(escaped)
}

/// Returns true for a control, and for a character that turns the direction of text, joins it, or
/// shows nothing. Readers do not see it, and may be misled by it.
pub(crate) fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{13430}'..='\u{1345f}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d159}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Returns true if a pattern matches the name of a tool, or the one that clients of a gateway see, which
/// has no `:` and `/`.
///
/// ```
/// use tool_core::text::matches_tool;
///
/// assert!(matches_tool("git:*", "git:push") && matches_tool("git_*", "git:push"));
/// ```
#[must_use]
pub fn matches_tool(pattern: &str, name: &str) -> bool {
    matches_wildcards(pattern, name)
        || (name.contains([':', '/']) && matches_wildcards(pattern, &shown_tool_name(name)))
}

/// Returns the name of a tool as clients of a gateway see it, without `:` and `/`.
#[must_use]
pub fn shown_tool_name(name: &str) -> String {
    name.replace([':', '/'], "_")
}

/// Returns true if a name matches a pattern, in which each `*` stands for any text. Takes time in
/// proportion to the product of both lengths at most.
///
/// ```
/// use tool_core::text::matches_wildcards;
///
/// assert!(matches_wildcards("github_*", "github_search"));
/// assert!(!matches_wildcards("search", "searches"));
/// ```
#[must_use]
pub fn matches_wildcards(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(mut name) = name.strip_prefix(start) else {
        return false;
    };
    let (between, end) = rest.rsplit_once('*').unwrap_or(("", rest));
    for part in between.split('*') {
        let Some((_, after)) = name.split_once(part) else {
            return false;
        };
        name = after;
    }
    name.ends_with(end)
}

/// Returns a name such as `open_world` as members of JSON are spelled: `openWorld`.
pub(crate) fn camel_case(name: &str) -> String {
    let mut camel = String::new();
    for (at, word) in name.split('_').enumerate() {
        let mut letters = word.chars();
        match letters.next() {
            Some(first) if at > 0 => camel.push(first.to_ascii_uppercase()),
            first => camel.extend(first),
        }
        camel.push_str(letters.as_str());
    }
    camel
}

/// Encodes bytes as lower-case hexadecimal digits.
///
/// ```
/// assert_eq!(tool_core::text::hex(&[0x0a, 0xff]), "0aff");
/// ```
pub fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 0xf]);
    digits
        .filter_map(|digit| char::from_digit(u32::from(digit), 16))
        .collect()
}

/// Decodes hexadecimal digits in place. Returns false for another number of digits than `bytes`
/// need, and for other characters.
pub(crate) fn decode_hex(digits: &str, bytes: &mut [u8]) -> bool {
    let value = |digit: u8| {
        char::from(digit)
            .to_digit(16)
            .and_then(|value| u8::try_from(value).ok())
    };
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    let mut valid = rest.is_empty() && pairs.len() == bytes.len();
    for ([high, low], byte) in pairs.iter().zip(bytes) {
        match value(*high).zip(value(*low)) {
            Some((high, low)) => *byte = high << 4 | low,
            None => valid = false,
        }
    }
    valid
}

/// Returns true for a text that is JSON.
pub(crate) fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text.trim()).is_ok()
}

/// The brackets from each end of a text at which its JSON may begin.
const MAX_BRACKETS: usize = 16;

/// Returns the JSON in a text: all of it, the content of its code block, or an object or array at
/// its end. Of several code blocks it is in the last one.
///
/// ```
/// use tool_core::text::json_in;
///
/// assert_eq!(json_in(r#"It is {"sum": 3}"#), Some(r#"{"sum": 3}"#));
/// assert_eq!(json_in("It is three."), None);
/// ```
#[must_use]
pub fn json_in(text: &str) -> Option<&str> {
    let whole = text.trim();
    if is_json(whole) {
        return Some(whole);
    }
    let blocks = [last_code_block(whole), outer_code_block(whole)];
    if let Some(json) = blocks.into_iter().flatten().find(|block| is_json(block)) {
        return Some(json);
    }

    // From the beginning, the JSON may have many brackets. From the end, the text before it may.
    let brackets = ['{', '['];
    let first = whole.match_indices(brackets).take(MAX_BRACKETS);
    let last = whole.rmatch_indices(brackets).take(MAX_BRACKETS);
    first
        .chain(last)
        .map(|(begin, _)| &whole[begin..])
        .find(|end| is_json(end))
}

/// Returns the content between the last two fences of a text.
fn last_code_block(text: &str) -> Option<&str> {
    let (before, _) = text.rsplit_once("```")?;
    let (_, block) = before.rsplit_once("```")?;
    Some(without_language(block))
}

/// Returns the content between the first fence and the last, as a text in the JSON may have fences.
fn outer_code_block(text: &str) -> Option<&str> {
    let (_, after) = text.split_once("```")?;
    let (block, _) = after.rsplit_once("```")?;
    Some(without_language(block))
}

/// Returns the content of a code block without the language behind its fence.
fn without_language(block: &str) -> &str {
    let content = block.trim_start_matches(|letter: char| letter.is_ascii_alphanumeric());
    content.trim()
}

/// A tool's name, cheap to copy into every response: a constant, as most are, or a shared text. A
/// constant needs no reference count, over which calls in many threads would contend.
#[derive(Clone)]
pub(crate) enum Name {
    Static(&'static str),
    Shared(Arc<str>),
}

impl Deref for Name {
    type Target = str;

    #[inline]
    fn deref(&self) -> &str {
        match self {
            Self::Static(name) => name,
            Self::Shared(name) => name,
        }
    }
}

impl From<&str> for Name {
    fn from(name: &str) -> Self {
        Self::Shared(name.into())
    }
}

impl From<Cow<'static, str>> for Name {
    fn from(name: Cow<'static, str>) -> Self {
        match name {
            Cow::Borrowed(name) => Self::Static(name),
            Cow::Owned(name) => name.into(),
        }
    }
}

impl From<String> for Name {
    fn from(name: String) -> Self {
        Self::Shared(name.into())
    }
}

// Compares and hashes as its text, so that a map of names can be searched by text.
impl Borrow<str> for Name {
    fn borrow(&self) -> &str {
        self
    }
}

impl Hash for Name {
    fn hash<H: Hasher>(&self, state: &mut H) {
        str::hash(self, state);
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Name {}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_text_of_exactly_the_limit_is_whole() {
        assert_eq!(truncate("äöü", 3), "äöü");
        assert_eq!(truncate("", 0), "");
    }

    #[test]
    fn a_longer_text_is_cut_at_a_character_and_marked() {
        assert_eq!(truncate("äöü!", 3), "äöü...");
        assert_eq!(truncate("x", 0), "...");
    }

    proptest! {
        #[test]
        fn a_prefix_ends_at_the_last_boundary_within_its_bytes(text: String, bytes in 0..100_usize) {
            prop_assert_eq!(prefix(&text, bytes), &text[..text.floor_char_boundary(bytes)]);
        }

        #[test]
        fn a_cut_text_is_a_prefix_of_the_whole(text: String, limit in 0..40_usize) {
            let cut = truncate(&text, limit);
            let kept = if text.chars().count() <= limit { cut.as_str() } else { cut.strip_suffix("...").expect("marked") };
            prop_assert!(text.starts_with(kept) && kept.chars().count() <= limit);
        }
    }

    #[test]
    fn counts_multibyte_characters_at_any_position() {
        for length in 0..140 {
            let ascii = "x".repeat(length);
            assert_eq!(characters(&ascii), length);
            for at in 0..length {
                let mixed = format!("{}é{}", &ascii[..at], &ascii[at + 1..]);
                assert_eq!(characters(&mixed), length, "{at} of {length}");
            }
        }
    }

    #[test]
    fn the_first_sentence_ends_at_its_stop() {
        assert_eq!(
            first_sentence("Search the base. Then more."),
            "Search the base."
        );
        assert_eq!(
            first_sentence("\n Search\n the base.\nMore."),
            "Search the base."
        );
        assert_eq!(first_sentence("Is it? Yes."), "Is it?");
        assert_eq!(first_sentence("検索する。次に"), "検索する。");
    }

    #[test]
    fn a_stop_inside_a_sentence_does_not_end_it() {
        assert_eq!(
            first_sentence("Costs 3.50 a call, e.g. Friday. More"),
            "Costs 3.50 a call, e.g. Friday."
        );
        assert_eq!(
            first_sentence("Reads foo.rs and so on. then more"),
            "Reads foo.rs and so on. then more"
        );
    }

    #[test]
    fn a_text_without_a_stop_is_one_sentence_up_to_the_blank_line() {
        assert_eq!(
            first_sentence("Add two numbers\n\nDetails."),
            "Add two numbers"
        );
        assert_eq!(first_sentence(" \n "), "");
    }

    #[test]
    fn patterns_match_whole_names() {
        for (pattern, name, expected) in [
            ("pay", "pay", true),
            ("pay", "pay_back", false),
            ("kb_*", "kb_search", true),
            ("kb_*", "kb_", true),
            ("kb_*", "my_kb_search", false),
            ("*_now", "pay_now", true),
            ("*_now", "pay_now_or_later", false),
            ("*", "anything", true),
            ("a*b*c", "a_b_c", true),
            ("a*b*c", "abc", true),
            ("a*b*c", "acb", false),
            ("ab*ba", "aba", false),
            ("*", "", true),
            ("github_*", "github_search", true),
            ("github_*", "gitlab_search", false),
            ("*_delete_*", "a_delete_b", true),
            ("*_delete_*", "a_delete", false),
            ("search", "search", true),
            ("search", "searches", false),
            ("*a*b*c", "xaxbxbxc", true),
            ("*a*b*c", "xaxcxb", false),
            ("", "a", false),
            ("a**", "a", true),
        ] {
            assert_eq!(
                matches_wildcards(pattern, name),
                expected,
                "{pattern} {name}"
            );
        }
        // As slow as a pattern can be.
        assert!(!matches_wildcards(&"*a".repeat(100), &"b".repeat(100_000)));
    }

    #[test]
    fn json_in_the_last_of_several_code_blocks_is_found() {
        let text = "```python\nsolve({1})\n```\nIt gives:\n```json\n{\"sum\": 3}\n```\nDone.";
        assert_eq!(json_in(text), Some("{\"sum\": 3}"));
    }

    #[test]
    fn json_with_a_code_block_in_a_text_is_found() {
        let json = "{\"help\": \"```sh\\nls\\n```\"}";
        let text = format!("Here:\n```json\n{json}\n```");
        assert_eq!(json_in(&text), Some(json));
    }

    #[test]
    fn json_behind_many_brackets_is_found() {
        let text = format!("{} {{\"sum\": [3]}}", "a[0] ".repeat(40));
        assert_eq!(json_in(&text), Some("{\"sum\": [3]}"));
    }

    #[test]
    fn json_of_many_brackets_behind_a_text_is_found() {
        let json = format!("[{}1]", "[1],".repeat(40));
        assert_eq!(json_in(&format!("It is {json}")), Some(&*json));
    }
}
