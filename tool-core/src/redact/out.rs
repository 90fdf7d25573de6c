//! JSON as it is written again: compact, without a character that could not be seen.

use super::HIDDEN;
use super::keys::is_unprintable;
use std::fmt::Write;
use std::ops::Range;

/// JSON as it is written again.
#[derive(Default)]
pub(super) struct Out {
    pub(super) json: String,
    /// Something stands before, so that a comma is needed.
    follows: bool,
}

impl Out {
    pub(super) fn comma(&mut self) {
        if std::mem::replace(&mut self.follows, true) {
            self.json.push(',');
        }
    }

    pub(super) fn open(&mut self, bracket: &str) {
        self.comma();
        self.json.push_str(bracket);
        self.follows = false;
    }

    pub(super) fn close(&mut self, bracket: &str) {
        self.json.push_str(bracket);
        self.follows = true;
    }

    pub(super) fn key(&mut self, key: &str) {
        self.text(key);
        self.json.push(':');
        self.follows = false;
    }

    pub(super) fn bare(&mut self, text: &str) {
        self.comma();
        self.json.push_str(text);
    }

    /// Hides values that are written already, in their order.
    pub(super) fn hide(&mut self, values: &[Range<usize>]) {
        let Some(first) = values.first() else { return };
        let tail = self.json.split_off(first.start);
        let mut done = 0;
        for value in values {
            let (start, end) = (value.start - first.start, value.end - first.start);
            self.json.push_str(tail.get(done..start).unwrap_or_default());
            self.json.push('"');
            self.json.push_str(HIDDEN);
            self.json.push('"');
            done = end;
        }
        self.json.push_str(tail.get(done..).unwrap_or_default());
    }

    pub(super) fn text(&mut self, text: &str) {
        self.comma();
        self.json.push('"');
        text.chars().for_each(|c| self.escaped(c));
        self.json.push('"');
    }

    fn escaped(&mut self, c: char) {
        match c {
            '"' => self.json.push_str("\\\""),
            '\\' => self.json.push_str("\\\\"),
            '\n' => self.json.push_str("\\n"),
            '\r' => self.json.push_str("\\r"),
            '\t' => self.json.push_str("\\t"),
            c if is_unprintable(c) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    // Writing to a text does not fail.
                    _ = write!(self.json, "\\u{unit:04x}");
                }
            }
            c => self.json.push(c),
        }
    }
}
