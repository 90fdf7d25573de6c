//! Mutations of arguments.

use crate::json::Json;
use crate::tape::Tape;

/// Values of every kind, and unusual spellings of numbers.
const PALETTE: &[&str] = &[
    "null",
    "true",
    "false",
    "0",
    "1",
    "5",
    "5.0",
    "5e0",
    "1e2",
    "-0",
    "-0.0",
    "-1",
    "0.1",
    "0.5",
    "255",
    "256",
    "127",
    "128",
    "-128",
    "-129",
    "65536",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "9223372036854775808.0",
    "-9223372036854775808",
    "-9223372036854775809",
    "18446744073709551615",
    "18446744073709551616",
    "18446744073709551615.0",
    "9007199254740993.0",
    "9223372036854775807.0",
    "9007199254740993.5",
    "-9007199254740993e0",
    "1e19",
    "1e20",
    "1e308",
    "1e400",
    "-1e400",
    "1e-400",
    "0e999",
    "3.4028236e38",
    "\"\"",
    "\"a\"",
    "\"5\"",
    "\"5.0\"",
    "\" 5\"",
    "\"05\"",
    "\"+5\"",
    "\"1e2\"",
    "\"true\"",
    "\"True\"",
    "\"null\"",
    "\"[1]\"",
    "\"{}\"",
    "\"[]\"",
    "\"Low\"",
    "\"low\"",
    "\"lo\"",
    "[]",
    "{}",
    "[1]",
    "[[]]",
    "[null]",
    "{\"Low\":null}",
    "{\"Nothing\":null}",
    "{\"Number\":5}",
    "{\"a\":1}",
    "{\"x\":1,\"y\":2}",
    "[1,2,null]",
    "[\"a\",1]",
    "{\"id\":7}",
];

/// Replaces the value at one place.
pub(crate) fn mutate(value: &mut Json, tape: &Tape<'_>) {
    let count = count(value);
    let mut left = tape.below(count);
    if let Some(place) = nth(value, &mut left) {
        spoil(place, tape);
    }
}

fn count(value: &Json) -> usize {
    1 + match value {
        Json::List(items) => items.iter().map(count).sum::<usize>(),
        Json::Object(entries) => entries.iter().map(|(_, value)| count(value)).sum(),
        _ => 0,
    }
}

/// Returns the place with this number, in the order of the text.
pub(crate) fn nth<'a>(value: &'a mut Json, left: &mut usize) -> Option<&'a mut Json> {
    if *left == 0 {
        return Some(value);
    }
    *left -= 1;
    match value {
        Json::List(items) => items.iter_mut().find_map(|item| nth(item, left)),
        Json::Object(entries) => entries.iter_mut().find_map(|(_, value)| nth(value, left)),
        _ => None,
    }
}

fn spoil(value: &mut Json, tape: &Tape<'_>) {
    match tape.below(14) {
        0..=3 => *value = from_palette(tape),
        4 | 5 => *value = Json::Text(value.text()),
        6 => *value = Json::List(vec![value.clone()]),
        7 => *value = Json::Object(vec![("value".to_owned(), value.clone())]),
        8 => *value = Json::raw("null"),
        _ => match value {
            Json::Object(entries) => object(entries, tape),
            Json::List(items) => list(items, tape),
            Json::Text(text) => *text = other_text(text, tape),
            Json::Raw(text) => *text = other_scalar(text, tape),
        },
    }
}

fn from_palette(tape: &Tape<'_>) -> Json {
    let text = tape.pick(PALETTE);
    crate::json::parse(text)
        .unwrap_or_else(|| Json::raw(text))
        .respelled(text)
}

impl Json {
    /// Returns the scalar in the spelling of the palette, which parsing loses.
    fn respelled(self, text: &str) -> Self {
        if matches!(self, Self::Raw(_)) {
            Self::raw(text)
        } else {
            self
        }
    }
}

fn object(entries: &mut Vec<(String, Json)>, tape: &Tape<'_>) {
    let at = tape.below(entries.len());
    let choice = tape.below(9);
    if entries.is_empty() || choice == 0 {
        let key = tape.pick(&[
            "unknown",
            "Value",
            "value",
            "VALUE",
            "valuе",
            "",
            "title",
            "__proto__",
            "kind",
            "id",
            "nick",
            "label",
        ]);
        entries.push(((*key).to_owned(), from_palette(tape)));
        return;
    }
    match choice {
        1 | 2 => {
            entries.remove(at);
        }
        3 => entries[at].1 = Json::raw("null"),
        4 => {
            let twin = entries[at].clone();
            entries.push(twin);
        }
        7 => {
            let names = [
                "nick", "handle", "n", "name", "town", "days", "query", "kind", "where", "begin",
                "lo", "Low",
            ];
            (*tape.pick(&names)).clone_into(&mut entries[at].0);
        }
        5 => entries[at].0 = other_text(&entries[at].0, tape),
        6 => {
            let values = entries.iter().map(|(_, value)| value.clone()).collect();
            entries[at].1 = Json::List(values);
        }
        _ => entries.reverse(),
    }
}

fn list(items: &mut Vec<Json>, tape: &Tape<'_>) {
    let at = tape.below(items.len());
    match tape.below(4) {
        0 if !items.is_empty() => {
            items.remove(at);
        }
        1 if !items.is_empty() => items.push(items[at].clone()),
        2 => items.insert(at, from_palette(tape)),
        _ => items.reverse(),
    }
}

fn other_text(text: &str, tape: &Tape<'_>) -> String {
    match tape.below(7) {
        0 => text.to_uppercase(),
        1 => text.to_lowercase(),
        2 => format!("{text} "),
        3 => format!("{text}\u{0}"),
        4 => text.chars().rev().collect(),
        5 => text.chars().skip(1).collect(),
        _ => format!("{text}{text}"),
    }
}

fn other_scalar(text: &str, tape: &Tape<'_>) -> String {
    let number: Option<i128> = text.parse().ok();
    match (number, tape.below(6)) {
        (Some(number), 0) => (number + 1).to_string(),
        (Some(number), 1) => (number - 1).to_string(),
        (Some(number), 2) => format!("{number}.0"),
        (Some(number), 3) => format!("{number}e0"),
        (Some(number), 4) => format!("{number}.5"),
        (Some(number), _) => (-number).to_string(),
        (None, _) => if text == "true" { "false" } else { "true" }.to_owned(),
    }
}
