//! The texts that are repaired, those that are not, and the laws of the repair for any text.

use crate::json::repair::repair;
use crate::json::value;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Map, Value, json};

/// Returns the value of a repaired text; `None` if it is not repaired, or the strict parser refuses the result.
fn repaired(text: &str) -> Option<Value> {
    let parsed = value::parse(&repair(text)?.text).ok()?;
    parsed.duplicates.is_empty().then_some(parsed.value)
}

// L28
#[test]
fn what_models_write_in_place_of_json_is_read() {
    let cases = [
        (
            "{'a': 'it is', \"b\": 1}",
            json!({"a": "it is", "b": 1}),
            "other quotation marks",
        ),
        (
            "{“a”: “x”, ‘b’: ‘y’}",
            json!({"a": "x", "b": "y"}),
            "other quotation marks",
        ),
        ("{“a“: ”x”}", json!({"a": "x"}), "other quotation marks"),
        (
            r#"{'a': 'say "hi"', "b": "it\'s"}"#,
            json!({"a": "say \"hi\"", "b": "it's"}),
            "an escape that JSON has not",
        ),
        (
            "{\"a\": \"one\ntwo\t\r\nthree\"}",
            json!({"a": "one\ntwo\t\r\nthree"}),
            "a line end or tab in a string",
        ),
        (
            "{a: 1, $b_2: 2, zoë-x: 3}",
            json!({"a": 1, "$b_2": 2, "zoë-x": 3}),
            "a key without quotes",
        ),
        (
            "{\"a\": 1, // one\n\"b\": /* two */ 2 # three\n}",
            json!({"a": 1, "b": 2}),
            "a comment",
        ),
        (
            "{\"a\": [1, 2,], \"b\": {\"c\": 3,},}",
            json!({"a": [1, 2], "b": {"c": 3}}),
            "a comma before a closing bracket",
        ),
        (
            "{\"a\": 1 \"b\": [] \"c\": 3}",
            json!({"a": 1, "b": [], "c": 3}),
            "a missing comma",
        ),
        (
            "{\"a\": \"x\"\n \"b\": \"y\"}",
            json!({"a": "x", "b": "y"}),
            "a missing comma",
        ),
        (
            "{\"a\": True, \"b\": [False, None]}",
            json!({"a": true, "b": [false, null]}),
            "a literal of Python",
        ),
        (
            "{\u{a0}\"a\":\u{2003}1}",
            json!({"a": 1}),
            "white space that JSON has not",
        ),
        (
            "```json\n{\"a\": 1}\n```",
            json!({"a": 1}),
            "text around the object",
        ),
        (
            "Here's the call:\n{\"a\": 1}\nIt's done.",
            json!({"a": 1}),
            "text around the object",
        ),
        (
            "search({\"a\": 1});",
            json!({"a": 1}),
            "text around the object",
        ),
        (
            "<tool_call>{\"a\": 1}</tool_call>",
            json!({"a": 1}),
            "text around the object",
        ),
        (
            "{\"a\": {\"b\": 1}}}",
            json!({"a": {"b": 1}}),
            "a closing bracket too many",
        ),
    ];
    for (text, expected, change) in cases {
        assert!(value::parse(text).is_err(), "{text}");
        assert_eq!(repaired(text), Some(expected), "{text}");
        let changes = repair(text).expect(text).changes;
        assert!(changes.contains(&change), "{text}: {changes:?}");
    }
}

#[test]
fn each_kind_of_repair_is_named_once() {
    let repaired = repair("{a: 'x', b: 'y', c: 'z',}").expect("repaired");
    assert_eq!(
        repaired.changes,
        [
            "a key without quotes",
            "other quotation marks",
            "a comma before a closing bracket"
        ]
    );
    assert_eq!(repaired.text, r#"{"a":"x","b":"y","c":"z"}"#);
}

// L28
#[test]
fn a_text_that_ends_early_is_not_completed() {
    for text in [
        "{",
        "{\"a\"",
        "{\"a\": 1",
        "{\"a\": 1,",
        "{\"a\": \"x",
        "{'a': 'x}",
        "{\"a\": [1, 2}",
        "{\"a\": {\"b\": 1}",
        "{\"a\": 1 /* }",
        "{\"a\": 1 // }",
        "```json\n{\"a\": 1}",
        "[{\"a\": 1}",
        "\"{'a': 1}",
    ] {
        assert_eq!(repaired(text), None, "{text}");
    }
}

// L28
#[test]
fn what_could_mean_two_things_is_not_repaired() {
    for text in [
        // Quotation marks that are not escaped.
        r#"{"a": "say "hi" to all"}"#,
        r#"{"a": "say "hi", "b": 1}"#,
        r#"{"a": "x" "b": "y"}"#,
        r#"{"a": "print("b": 1)"}"#,
        "{'a': 'it's'}",
        "{‘a’: ‘it’s’}",
        // Backslashes that are not escaped.
        r#"{"a": "C:\dir"}"#,
        r#"{"a": "\d+"}"#,
        r#"{"a": "\x41"}"#,
        "{\"a\": \"x\\\ny\"}",
        // Values that JSON has not.
        "{\"a\": NaN}",
        "{\"a\": -Infinity}",
        "{\"a\": undefined}",
        "{\"a\": word}",
        "{\"a\": TRUE}",
        "{\"a\": +1}",
        "{\"a\": .5}",
        "{\"a\": 0x10}",
        "{\"a\": 1_000}",
        "{\"a\": 007}",
        "{\"a\": 2024-01-31}",
        "{\"a\": 1e400}",
        "{\"a\": (1, 2)}",
        // A value or a member may be missing.
        "{\"a\": 1,, \"b\": 2}",
        "{, \"a\": 1}",
        "{\"a\": , \"b\": 2}",
        "{\"a\": [1 2]}",
        "{\"a\" \"x\"}",
        "{\"a\" = 1}",
        "{\"a\" => 1}",
        "{\"a\": 1; \"b\": 2}",
        "{1: 2}",
        // More than one object, or a part of it outside.
        "{}{\"a\": 1}",
        "{\"a\": 1}\n{\"a\": 2}",
        "{\"a\": 1}, \"b\": 2}",
        "{a: 1}, b: 2",
        "\"a\": {\"b\": 1}",
        "[{\"a\": 1}]",
        "```json\n{\"a\": 1}\n```\n```json\n{\"b\": 1}\n```",
        // Keys that occur twice.
        "{a: 1, \"a\": 2}",
        // No object.
        "",
        "not json",
        "'a'",
        "}{",
    ] {
        assert_eq!(repaired(text), None, "{text}");
    }
}

#[test]
fn numbers_and_escapes_are_copied() {
    let repaired = repair(
        r#"{a: 1.50, b: -0e+00, c: 170141183460469231731687303715884105727, d: "\u00e9\/"}"#,
    );
    let text =
        r#"{"a":1.50,"b":-0e+00,"c":170141183460469231731687303715884105727,"d":"\u00e9\/"}"#;
    assert_eq!(
        repaired.map(|repaired| repaired.text).as_deref(),
        Some(text)
    );
}

#[test]
fn hostile_texts_are_refused_in_bounded_memory() {
    for text in [
        "{".repeat(100_000),
        "{a:".repeat(100_000),
        format!("{{a:{}{}}}", "[".repeat(128), "]".repeat(128)),
        format!("{{a:{}", "'".repeat(100_001)),
        "{/*".repeat(50_000),
        format!("{{a: 1{}", "}".repeat(100_000) + "{"),
        "{\"a\": \"b\u{0}c\"}".into(),
    ] {
        assert_eq!(repaired(&text), None);
    }
    let deep = format!("{{a:{}{}}}", "[".repeat(127), "]".repeat(127));
    assert!(repaired(&deep).is_some());
}

fn any_value() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        "[a-z ,:{}\\[\\]/#*]{0,8}",
        "\\PC{0,6}",
        Just("it's \"two\"\n\tlines\\ // # /* ” ‘".to_owned()),
        Just("```".to_owned()),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(text.clone(), inner, 0..4).prop_map(object),
        ]
    })
}

fn any_object() -> impl Strategy<Value = Value> {
    prop::collection::btree_map("[a-zA-Z_]{1,5}|\\PC{0,4}", any_value(), 0..5).prop_map(object)
}

fn object(members: std::collections::BTreeMap<String, Value>) -> Value {
    members.into_iter().collect::<Map<_, _>>().into()
}

/// Writes JSON with any of the spellings that the superset adds. `choices` decides about each of them.
struct Sloppy<'a> {
    choices: &'a mut dyn FnMut(usize) -> usize,
    text: String,
}

impl Sloppy<'_> {
    fn choose<'c>(&mut self, from: &[&'c str]) -> &'c str {
        from[(self.choices)(from.len())]
    }

    fn space(&mut self) {
        let space = self.choose(&["", " ", "\n", "\u{a0}", " // }\"'\n", "/* ]' */", " # {\n"]);
        self.text.push_str(space);
    }

    fn string(&mut self, value: &str) {
        let marks = ["\"\"", "''", "“”", "”“", "‘’"];
        let mark = self.choose(&marks);
        let holds_mark = |mark: &str| match mark {
            "\"\"" | "''" => false,
            "‘’" => value.contains(['‘', '’']),
            _ => value.contains(['“', '”']),
        };
        let mark = if holds_mark(mark) { "\"\"" } else { mark };
        let mut ends = mark.chars();
        self.text.extend(ends.next());
        for character in value.chars() {
            match character {
                '"' if mark == "\"\"" => self.text.push_str("\\\""),
                '\'' if mark == "''" => self.text.push_str("\\'"),
                '\n' | '\t' if (self.choices)(2) == 0 => self.text.push(character),
                _ => {
                    let escaped = Value::from(character.to_string()).to_string();
                    let inner = if character == '"' {
                        "\""
                    } else {
                        escaped.trim_matches('"')
                    };
                    self.text.push_str(inner);
                }
            }
        }
        self.text.extend(ends.next());
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.literal(&["null", "None"]),
            Value::Bool(true) => self.literal(&["true", "True"]),
            Value::Bool(false) => self.literal(&["false", "False"]),
            Value::Number(number) => self.text.push_str(&number.to_string()),
            Value::String(text) => self.string(text),
            Value::Array(items) => self.array(items),
            Value::Object(members) => self.object(members),
        }
    }

    fn literal(&mut self, spellings: &[&str]) {
        let spelling = self.choose(spellings);
        self.text.push_str(spelling);
    }

    fn array(&mut self, items: &[Value]) {
        self.text.push('[');
        for (at, item) in items.iter().enumerate() {
            self.space();
            self.value(item);
            self.space();
            self.comma(at + 1 == items.len(), &[","]);
        }
        self.space();
        self.text.push(']');
    }

    fn object(&mut self, members: &Map<String, Value>) {
        self.text.push('{');
        let mut has_comma = true;
        for (at, (key, value)) in members.iter().enumerate() {
            self.space();
            let is_name = key.starts_with(|first: char| first.is_alphabetic() || first == '_')
                && key
                    .chars()
                    .all(|next| next.is_alphanumeric() || next == '_');
            // A missing comma needs a key in quotes.
            if is_name && has_comma && (self.choices)(2) == 0 {
                self.text.push_str(key);
            } else {
                self.string(key);
            }
            self.space();
            self.text.push(':');
            self.space();
            self.value(value);
            let separators: &[&str] = if value.is_string() {
                &[",", "\n"]
            } else {
                &[",", "\n", " "]
            };
            has_comma = self.comma(at + 1 == members.len(), separators);
        }
        self.space();
        self.text.push('}');
    }

    /// Returns true if there is a comma.
    fn comma(&mut self, is_last: bool, separators: &[&str]) -> bool {
        let separator = self.choose(if is_last { &["", ","] } else { separators });
        self.text.push_str(separator);
        separator == ","
    }
}

fn sloppy(value: &Value, choices: &[Index]) -> String {
    let mut used = choices.iter().cycle();
    let mut choose = |of: usize| used.next().map_or(0, |choice| choice.index(of));
    let mut writer = Sloppy {
        choices: &mut choose,
        text: String::new(),
    };
    let around = [
        ("", ""),
        ("```json\n", "\n```"),
        ("Here it is: ", " - it's done"),
        ("f(", ")"),
        ("", " }"),
    ];
    let (before, after) = around[(writer.choices)(around.len())];
    writer.text.push_str(before);
    writer.value(value);
    writer.text.push_str(after);
    writer.text
}

fn choices() -> impl Strategy<Value = Vec<Index>> {
    prop::collection::vec(any::<Index>(), 1..40)
}

/// `PROPTEST_CASES` asks for more.
fn cases(least: u32) -> ProptestConfig {
    let default = ProptestConfig::default();
    ProptestConfig {
        cases: default.cases.max(least),
        failure_persistence: None,
        ..default
    }
}

/// Returns every beginning of a text that is shorter than it.
fn beginnings(text: &str) -> impl Iterator<Item = &str> {
    (0..text.len()).filter_map(|end| text.get(..end))
}

proptest! {
    #![proptest_config(cases(256))]

    // L28
    #[test]
    fn json_means_the_same_after_a_repair(value in any_object(), is_pretty in any::<bool>()) {
        let text = if is_pretty { format!("{value:#}") } else { value.to_string() };
        let found = repair(&text).expect("repaired");
        prop_assert!(found.changes.is_empty(), "{:?}", found.changes);
        prop_assert_eq!(repaired(&text), value::parse(&text).ok().map(|parsed| parsed.value));
    }

    // L28
    #[test]
    fn the_superset_keeps_every_value(value in any_object(), choices in choices()) {
        let text = sloppy(&value, &choices);
        let expected = value::parse(&value.to_string()).expect("JSON").value;
        prop_assert_eq!(repaired(&text), Some(expected), "{}", text);
    }

    // L28
    #[test]
    fn what_is_repaired_stands_in_the_text(
        value in any_object(),
        choices in choices(),
        at in any::<Index>(),
        garbage in "[{}\\[\\]\"',:0-9a-z “’/#*\n]{0,3}",
    ) {
        let mut text = sloppy(&value, &choices);
        let boundaries: Vec<_> = text.char_indices().map(|(at, _)| at).collect();
        let start = *at.get(&boundaries);
        let end = text[start..].char_indices().nth(1).map_or(text.len(), |(length, _)| start + length);
        text.replace_range(start..end, &garbage);
        if let Some(found) = repaired(&text) {
            prop_assert!(stands_in(&found, &text), "{} gave {}", text, found);
        }
    }

    #[test]
    fn any_text_is_repaired_or_refused(text in "[{}\\[\\]\"',:0-9a-zTN “’/#*\\\\\n\\-+.`]{0,40}") {
        if let Some(found) = repaired(&text) {
            prop_assert!(found.is_object());
            prop_assert!(stands_in(&found, &text), "{} gave {}", text, found);
        }
    }
}

proptest! {
    // Each case is cut at every byte.
    #![proptest_config(cases(32))]

    // L28
    #[test]
    fn the_beginning_of_json_is_never_repaired(value in any_value(), is_pretty in any::<bool>()) {
        let text = if is_pretty { format!("{value:#}") } else { value.to_string() };
        let twice = Value::from(text.clone()).to_string();
        for cut in beginnings(&text).chain(beginnings(&twice)) {
            prop_assert_eq!(repaired(cut), None, "{}", cut);
        }
    }

    // L28
    #[test]
    fn a_cut_text_has_the_whole_object_or_nothing(value in any_object(), choices in choices()) {
        let text = sloppy(&value, &choices);
        let whole = repaired(&text);
        for cut in beginnings(&text) {
            let found = repaired(cut);
            prop_assert!(found.is_none() || found == whole, "{} gave {:?}", cut, found);
        }
    }
}

/// Returns true if the letters and digits of each key and value are in a text, in their order.
fn stands_in(value: &Value, text: &str) -> bool {
    match value {
        Value::Null => text.contains("null") || text.contains("None"),
        Value::Bool(true) => text.contains("true") || text.contains("True"),
        Value::Bool(false) => text.contains("false") || text.contains("False"),
        Value::Number(_) => text.contains(|next: char| next.is_ascii_digit()),
        Value::String(string) => is_subsequence(string, text),
        Value::Array(items) => items.iter().all(|item| stands_in(item, text)),
        Value::Object(members) => members
            .iter()
            .all(|(key, value)| is_subsequence(key, text) && stands_in(value, text)),
    }
}

fn is_subsequence(wanted: &str, text: &str) -> bool {
    let mut rest = text.chars();
    wanted
        .chars()
        .filter(|next| next.is_alphanumeric())
        .all(|next| rest.any(|found| found == next))
}
