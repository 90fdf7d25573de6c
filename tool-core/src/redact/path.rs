//! Where in a JSON text something stands.

use super::pair::{self, Named, Pair};
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

/// Where a value stands.
#[derive(Default)]
pub(super) struct Path<'a>(Vec<Segment<'a>>);

enum Segment<'a> {
    /// In an object, after this key.
    Key(Cow<'a, str>, Pair),
    /// In an array, so many from its beginning, counted from 1; 0 before the first.
    Index(usize),
}

impl<'a> Path<'a> {
    pub(super) fn open(&mut self, object: bool) {
        self.0.push(if object { Segment::Key(Cow::Borrowed(""), Pair::default()) } else { Segment::Index(0) });
    }

    /// The bracket that closes what was open.
    pub(super) fn close(&mut self) -> Option<&'static str> {
        self.0.pop().map(|segment| if matches!(segment, Segment::Key(..)) { "}" } else { "]" })
    }

    pub(super) fn key(&mut self, key: Cow<'a, str>) {
        if let Some(Segment::Key(last, _)) = self.0.last_mut() {
            *last = key;
        }
    }

    pub(super) fn next_item(&mut self) {
        if let Some(Segment::Index(index)) = self.0.last_mut() {
            *index += 1;
        }
    }

    /// The key of the value, where it is an object's.
    pub(super) fn last_key(&self) -> Option<&str> {
        match self.0.last()? {
            Segment::Key(key, _) => Some(key),
            Segment::Index(_) => None,
        }
    }

    /// Whether it says what another member of its object is the value of.
    pub(super) fn is_name(&self) -> bool {
        self.last_key().is_some_and(pair::is_name)
    }

    /// The object's name is this. Where in what is written its values stand, which are to be hidden.
    pub(super) fn named(&mut self, named: Named) -> Vec<Range<usize>> {
        match self.0.last_mut() {
            Some(Segment::Key(_, pair)) => pair.named(named),
            _ => Vec::new(),
        }
    }

    /// Whether it is the value of what its object names, and that is a secret.
    pub(super) fn is_value_of_secret(&self, number: bool) -> bool {
        matches!(self.0.last(), Some(Segment::Key(key, pair)) if pair.hides(key, number))
    }

    /// A value is written from here on.
    pub(super) fn value_begins(&mut self, at: usize, number: bool) {
        if let Some(Segment::Key(key, pair)) = self.0.last_mut() {
            pair.begins(key, at, number);
        }
    }

    /// It is written up to here.
    pub(super) fn value_ends(&mut self, at: usize) {
        if let Some(Segment::Key(_, pair)) = self.0.last_mut() {
            pair.ends(at);
        }
    }

    /// Whether something is written that a name may still say to be a secret.
    pub(super) fn waits_for_name(&self) -> bool {
        self.0.iter().any(|segment| matches!(segment, Segment::Key(_, pair) if pair.waits()))
    }

    pub(super) fn is(&self, pointer: &[String]) -> bool {
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
