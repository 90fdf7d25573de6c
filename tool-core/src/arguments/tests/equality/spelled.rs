//! Random JSON, and the many ways to write the same of it.

use std::fmt::Write as _;

/// A fast generator, for a million pairs.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(limit.max(1)).expect("small")).expect("small")
    }

    pub(crate) fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }

    fn often(&mut self) -> bool {
        self.below(4) > 0
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    /// Digits alone, or with a point: the shortest way to write it.
    Number(String),
    Text(String),
    Array(Vec<Json>),
    Object(Vec<(String, Json)>),
}

const WHOLE: &[&str] = &[
    "0",
    "1",
    "7",
    "10",
    "99",
    "480",
    "4503599627370496",
    "9007199254740992",
    "9007199254740993",
    "-9007199254740993",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "-18446744073709551616",
    "340282366920938463463374607431768211455",
    "-170141183460469231731687303715884105728",
    "1234567890123456789012345678901234567890123",
];
const FRACTIONS: &[&str] = &[
    "0.5",
    "1.25",
    "-0.125",
    "59.913869",
    "-73.98566",
    "1000000.5",
    "0.0001",
];
const TEXTS: &[&str] = &[
    "",
    " ",
    "1",
    "1.0",
    "true",
    "null",
    "[]",
    "{}",
    "Team sync",
    "é",
    "e\u{301}",
    "a\nb",
    "\"quoted\"",
    "back\\slash",
    "\u{0}",
    "😀",
    "exactly 16 bytes",
    "exactly 15 byte",
    "2026-11-20T10:00:00Z",
    "a text of more than thirty-two bytes, with é in it",
    "ÿÿÿÿÿÿÿÿÿÿ",
];
pub(crate) const NAMES: &[&str] = &[
    "a",
    "b",
    "c",
    "ab",
    "",
    "é",
    "a\"",
    "title",
    "duration_minutes",
    "a.b",
    "0",
];

pub(crate) fn value(dice: &mut Dice, depth: usize) -> Json {
    match dice.below(if depth == 0 { 6 } else { 10 }) {
        0 => Json::Null,
        1 => Json::Bool(dice.below(2) == 0),
        2 | 3 => number(dice),
        4 | 5 => Json::Text(dice.pick(TEXTS).to_string()),
        6 | 7 => Json::Array((0..dice.below(4)).map(|_| value(dice, depth - 1)).collect()),
        _ => object(dice, depth - 1),
    }
}

pub(crate) fn object(dice: &mut Dice, depth: usize) -> Json {
    let mut members: Vec<(String, Json)> = Vec::new();
    for _ in 0..dice.below(5) {
        let name = *dice.pick(NAMES);
        if members.iter().all(|(there, _)| there != name) {
            members.push((name.to_owned(), value(dice, depth)));
        }
    }
    Json::Object(members)
}

fn number(dice: &mut Dice) -> Json {
    Json::Number(match dice.below(4) {
        0 => dice.pick(FRACTIONS).to_string(),
        1 => (dice.next() >> dice.below(64)).to_string(),
        _ => dice.pick(WHOLE).to_string(),
    })
}

/// The text without any liberty.
pub(crate) fn plain(value: &Json) -> String {
    let mut out = String::new();
    write(value, &mut None, &mut out);
    out
}

/// The same in another spelling: keys in another order, white space, escapes, other forms of numbers.
pub(crate) fn other(value: &Json, dice: &mut Dice) -> String {
    let mut out = String::new();
    write(value, &mut Some(dice), &mut out);
    out
}

fn write(value: &Json, dice: &mut Option<&mut Dice>, out: &mut String) {
    space(dice, out);
    match value {
        Json::Null => out.push_str("null"),
        Json::Bool(value) => out.push_str(&value.to_string()),
        Json::Number(digits) => out.push_str(&respelled(digits, dice)),
        Json::Text(text) => quoted(text, dice, out),
        Json::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                write(item, dice, out);
            }
            space(dice, out);
            out.push(']');
        }
        Json::Object(members) => {
            out.push('{');
            let first = dice.as_mut().map_or(0, |dice| dice.below(members.len()));
            for at in 0..members.len() {
                let (name, member) = &members[(at + first) % members.len()];
                out.push_str(if at > 0 { "," } else { "" });
                space(dice, out);
                quoted(name, dice, out);
                space(dice, out);
                out.push(':');
                write(member, dice, out);
            }
            space(dice, out);
            out.push('}');
        }
    }
    space(dice, out);
}

fn space(dice: &mut Option<&mut Dice>, out: &mut String) {
    if let Some(dice) = dice {
        out.push_str(["", "", "", " ", "\n\t", "  "][dice.below(6)]);
    }
}

fn quoted(text: &str, dice: &mut Option<&mut Dice>, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        let escape = match dice {
            Some(dice) => !dice.often(),
            None => false,
        };
        if escape || character < ' ' {
            for unit in character.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push_str(if matches!(character, '"' | '\\') {
                "\\"
            } else {
                ""
            });
            out.push(character);
        }
    }
    out.push('"');
}

fn respelled(digits: &str, dice: &mut Option<&mut Dice>) -> String {
    let Some(dice) = dice else {
        return digits.to_owned();
    };
    if dice.often() {
        return digits.to_owned();
    }
    // A whole number that a float would round has one spelling.
    match (digits.contains('.'), digits.len() <= 15) {
        (true, _) => [
            format!("{digits}0"),
            format!("{digits}e0"),
            format!("{digits}E+00"),
        ][dice.below(3)]
        .clone(),
        (false, true) if digits != "0" => [
            format!("{digits}.0"),
            format!("{digits}e0"),
            format!("{digits}0e-1"),
            format!("{digits}.00E0"),
        ][dice.below(4)]
        .clone(),
        (false, true) => dice.pick(&["0.0", "-0", "0e7", "-0.0e-1"]).to_string(),
        (false, false) => digits.to_owned(),
    }
}
