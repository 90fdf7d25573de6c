//! Where in a JSON text something stands.

use std::borrow::Cow;
use std::fmt;

/// Where a value stands.
#[derive(Default)]
pub(super) struct Path<'a>(Vec<Segment<'a>>);

enum Segment<'a> {
    /// In an object, after this key.
    Key(Cow<'a, str>),
    /// In an array, so many from its beginning, counted from 1; 0 before the first.
    Index(usize),
}

impl<'a> Path<'a> {
    pub(super) fn open(&mut self, object: bool) {
        self.0.push(if object { Segment::Key(Cow::Borrowed("")) } else { Segment::Index(0) });
    }

    /// The bracket that closes what was open.
    pub(super) fn close(&mut self) -> Option<&'static str> {
        self.0.pop().map(|segment| if matches!(segment, Segment::Key(_)) { "}" } else { "]" })
    }

    pub(super) fn key(&mut self, key: Cow<'a, str>) {
        if let Some(last) = self.0.last_mut() {
            *last = Segment::Key(key);
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
            Segment::Key(key) => Some(key),
            Segment::Index(_) => None,
        }
    }

    pub(super) fn is(&self, pointer: &[String]) -> bool {
        let same = |(segment, wanted): (&Segment<'_>, &String)| match segment {
            _ if wanted == "*" => true,
            Segment::Key(key) => key == wanted,
            Segment::Index(index) => wanted.parse() == Ok(index.wrapping_sub(1)),
        };
        self.0.len() == pointer.len() && self.0.iter().zip(pointer).all(same)
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|segment| match segment {
            Segment::Key(key) => write!(f, "/{}", key.replace('~', "~0").replace('/', "~1")),
            Segment::Index(index) => write!(f, "/{}", index.wrapping_sub(1)),
        })
    }
}
