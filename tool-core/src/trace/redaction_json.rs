//! A JSON text, written again without what is to be hidden.

use crate::json::tokens::{Token, Tokens};
use crate::trace::redaction;
use crate::trace::redaction::{HIDDEN, Rules, is_unprintable};
use std::borrow::Cow;
use std::fmt;
use std::fmt::Write;
use std::ops::Range;

/// What of a text is shown.
#[derive(Clone, Copy)]
pub(crate) struct Shown {
    /// How many characters are asked for.
    pub(crate) characters: usize,
    /// How often it may hold another text of JSON.
    pub(crate) within: u8,
    /// Whether the text was cut: then what stands before the first token that is not whole is shown.
    pub(crate) cut: bool,
}

/// `None` where it is not JSON, as far as it is read: what lies behind the last character that is asked for is not,
/// unless it may say that something before it is a secret.
pub(crate) fn rewritten(rules: &Rules, text: &str, shown: Shown) -> Option<String> {
    // A character has at most four bytes, so past this there are enough of them.
    let enough = shown.characters.saturating_mul(4);
    let mut tokens = Tokens::new(text);
    let mut writing = Writing { rules, within: shown.within, out: Out::default(), path: Path::default(), hidden: 0 };
    loop {
        match tokens.next() {
            Ok(Some(token)) => writing.token(token),
            Ok(None) => break,
            Err(_) if shown.cut => break,
            Err(_) => return None,
        }
        if writing.out.json.len() > enough && !writing.path.waits_for_name() {
            break;
        }
    }
    Some(writing.out.json)
}

struct Writing<'r, 't> {
    rules: &'r Rules,
    within: u8,
    out: Out,
    path: Path<'t>,
    /// How many containers are open that are hidden with what is around them.
    hidden: u32,
}

impl<'t> Writing<'_, 't> {
    fn token(&mut self, token: Token<'t>) {
        if self.hidden > 0 {
            match token {
                Token::Open { .. } => self.hidden += 1,
                Token::Close => self.hidden -= 1,
                _ => {}
            }
            return;
        }
        match token {
            Token::Key(key) => {
                self.out.key(&self.rules.text(&key));
                self.path.key(key);
            }
            Token::Close => {
                if let Some(bracket) = self.path.close() {
                    self.out.close(bracket);
                    self.path.value_ends(self.out.json.len());
                }
            }
            token => {
                self.path.next_item();
                self.value(token);
            }
        }
    }

    fn value(&mut self, token: Token<'t>) {
        if let Token::Text(text) = &token {
            self.name(text);
        }
        if self.rules.hides(&self.path, &token) {
            self.out.text(HIDDEN);
            self.hidden = u32::from(matches!(token, Token::Open { .. }));
            return;
        }
        let is_number = matches!(token, Token::Bare(text) if is_number(text));
        self.path.value_begins(self.out.json.len(), is_number);
        match token {
            Token::Open { object } => {
                self.out.open(if object { "{" } else { "[" });
                self.path.open(object);
                return;
            }
            Token::Text(text) => self.out.text(&self.shown(&text)),
            Token::Bare(text) => self.out.bare(text),
            Token::Key(_) | Token::Close => {}
        }
        self.path.value_ends(self.out.json.len());
    }

    /// A text that may be the name of what else its object has.
    fn name(&mut self, text: &str) {
        if !self.path.is_name() {
            return;
        }
        let named = match (self.rules.is_secret(text, false), self.rules.is_secret(text, true)) {
            (_, true) => Named::Secret,
            (true, false) => Named::SecretUnlessNumber,
            (false, false) => return,
        };
        self.out.hide(&self.path.named(named));
    }

    /// A text inside JSON, which may be JSON itself.
    fn shown<'s>(&self, text: &'s str) -> Cow<'s, str> {
        let is_json = self.within > 0 && text.trim_start().starts_with(['{', '[', '"']);
        let shown = Shown { characters: usize::MAX, within: self.within.saturating_sub(1), cut: false };
        match is_json.then(|| rewritten(self.rules, text, shown)).flatten() {
            Some(json) => Cow::Owned(json),
            None => self.rules.text(text),
        }
    }
}

/// Whether what stands bare is a number.
pub(crate) fn is_number(text: &str) -> bool {
    text.starts_with(|c: char| c == '-' || c.is_ascii_digit())
}

// ---- JSON as it is written again: compact, without a character that could not be seen.

/// JSON as it is written again.
#[derive(Default)]
pub(crate) struct Out {
    pub(crate) json: String,
    /// Something stands before, so that a comma is needed.
    follows: bool,
}

impl Out {
    pub(crate) fn comma(&mut self) {
        if std::mem::replace(&mut self.follows, true) {
            self.json.push(',');
        }
    }

    pub(crate) fn open(&mut self, bracket: &str) {
        self.comma();
        self.json.push_str(bracket);
        self.follows = false;
    }

    pub(crate) fn close(&mut self, bracket: &str) {
        self.json.push_str(bracket);
        self.follows = true;
    }

    pub(crate) fn key(&mut self, key: &str) {
        self.text(key);
        self.json.push(':');
        self.follows = false;
    }

    pub(crate) fn bare(&mut self, text: &str) {
        self.comma();
        self.json.push_str(text);
    }

    /// Hides values that are written already, in their order.
    pub(crate) fn hide(&mut self, values: &[Range<usize>]) {
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

    pub(crate) fn text(&mut self, text: &str) {
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

// ---- `{"name": "X-Api-Key", "value": ".."}`: a name and its value as members of one object, in either order.

/// What an object has said so far of the value in it.
#[derive(Default)]
pub(crate) struct Pair {
    named: Option<Named>,
    /// The value that is being written: where it begins, and whether it is a number.
    begun: Option<(usize, bool)>,
    /// Where values are written that came before their name.
    values: Vec<(Range<usize>, bool)>,
}

/// That the name is a word for a secret.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Named {
    /// Of many things: a number says how many.
    SecretUnlessNumber,
    Secret,
}

/// Whether a member of this key names the value.
pub(crate) fn is_name(key: &str) -> bool {
    matches!(&*redaction::normal(key), "name" | "key" | "header")
}

fn is_value(key: &str) -> bool {
    matches!(&*redaction::normal(key), "value" | "values")
}

impl Pair {
    /// What is written at a place is to be hidden from here on; the places that were written before.
    pub(crate) fn named(&mut self, named: Named) -> Vec<Range<usize>> {
        let named = self.named.map_or(named, |before| before.max(named));
        self.named = Some(named);
        let (hidden, shown) =
            std::mem::take(&mut self.values).into_iter().partition::<Vec<_>, _>(|(_, number)| hides(named, *number));
        self.values = shown;
        hidden.into_iter().map(|(range, _)| range).collect()
    }

    pub(crate) fn hides(&self, key: &str, number: bool) -> bool {
        self.named.is_some_and(|named| hides(named, number)) && is_value(key)
    }

    pub(crate) fn begins(&mut self, key: &str, at: usize, number: bool) {
        self.begun = is_value(key).then_some((at, number));
    }

    pub(crate) fn ends(&mut self, at: usize) {
        if let Some((begun, number)) = self.begun.take() {
            self.values.push((begun..at, number));
        }
    }

    /// Whether there is a value that a name may still say to be a secret.
    pub(crate) fn waits(&self) -> bool {
        self.named != Some(Named::Secret) && (self.begun.is_some() || !self.values.is_empty())
    }
}

fn hides(named: Named, number: bool) -> bool {
    named == Named::Secret || !number
}

// ---- Where in a JSON text something stands.

/// Where a value stands.
#[derive(Default)]
pub(crate) struct Path<'a>(Vec<Segment<'a>>);

enum Segment<'a> {
    /// In an object, after this key.
    Key(Cow<'a, str>, Pair),
    /// In an array, so many from its beginning, counted from 1; 0 before the first.
    Index(usize),
}

impl<'a> Path<'a> {
    pub(crate) fn open(&mut self, object: bool) {
        self.0.push(if object { Segment::Key(Cow::Borrowed(""), Pair::default()) } else { Segment::Index(0) });
    }

    /// The bracket that closes what was open.
    pub(crate) fn close(&mut self) -> Option<&'static str> {
        self.0.pop().map(|segment| if matches!(segment, Segment::Key(..)) { "}" } else { "]" })
    }

    pub(crate) fn key(&mut self, key: Cow<'a, str>) {
        if let Some(Segment::Key(last, _)) = self.0.last_mut() {
            *last = key;
        }
    }

    pub(crate) fn next_item(&mut self) {
        if let Some(Segment::Index(index)) = self.0.last_mut() {
            *index += 1;
        }
    }

    /// The key of the value, where it is an object's.
    pub(crate) fn last_key(&self) -> Option<&str> {
        match self.0.last()? {
            Segment::Key(key, _) => Some(key),
            Segment::Index(_) => None,
        }
    }

    /// Whether it says what another member of its object is the value of.
    pub(crate) fn is_name(&self) -> bool {
        self.last_key().is_some_and(is_name)
    }

    /// The object's name is this. Where in what is written its values stand, which are to be hidden.
    pub(crate) fn named(&mut self, named: Named) -> Vec<Range<usize>> {
        match self.0.last_mut() {
            Some(Segment::Key(_, pair)) => pair.named(named),
            _ => Vec::new(),
        }
    }

    /// Whether it is the value of what its object names, and that is a secret.
    pub(crate) fn is_value_of_secret(&self, number: bool) -> bool {
        matches!(self.0.last(), Some(Segment::Key(key, pair)) if pair.hides(key, number))
    }

    /// A value is written from here on.
    pub(crate) fn value_begins(&mut self, at: usize, number: bool) {
        if let Some(Segment::Key(key, pair)) = self.0.last_mut() {
            pair.begins(key, at, number);
        }
    }

    /// It is written up to here.
    pub(crate) fn value_ends(&mut self, at: usize) {
        if let Some(Segment::Key(_, pair)) = self.0.last_mut() {
            pair.ends(at);
        }
    }

    /// Whether something is written that a name may still say to be a secret.
    pub(crate) fn waits_for_name(&self) -> bool {
        self.0.iter().any(|segment| matches!(segment, Segment::Key(_, pair) if pair.waits()))
    }

    pub(crate) fn is(&self, pointer: &[String]) -> bool {
        let same = |(segment, wanted): (&Segment<'_>, &String)| match segment {
            _ if wanted == "*" => true,
            Segment::Key(key, _) => key == wanted,
            Segment::Index(index) => wanted.parse() == Ok(index.wrapping_sub(1)),
        };
        self.0.len() == pointer.len() && self.0.iter().zip(pointer).all(same)
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|segment| match segment {
            Segment::Key(key, _) => write!(f, "/{}", key.replace('~', "~0").replace('/', "~1")),
            Segment::Index(index) => write!(f, "/{}", index.wrapping_sub(1)),
        })
    }
}
