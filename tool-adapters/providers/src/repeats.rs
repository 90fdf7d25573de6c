//! Events of a stream that repeat the last one but for a piece of text.
//!
//! Most events differ from the one before in a piece and a number only. They are compared with its
//! text instead of being read member by member.

use crate::json_reader::JsonReader;
use std::borrow::Cow;
use std::ops::Range;

/// The size up to which an event is kept.
const MAX_BYTES: usize = 4_096;

/// The last event of a stream, which the next one may repeat.
#[derive(Debug)]
pub(crate) struct LastEvent<K> {
    text: String,
    /// The values that may differ, as places in the text and positions among the values. In the
    /// order of the text.
    values: Vec<(Range<usize>, usize)>,
    effect: K,
}

impl<K> LastEvent<K> {
    /// Keeps an event whose only effect is that of its piece. `values` are the JSON of the piece,
    /// which is a string, and of other members that may differ in the next event. An absent one is
    /// empty.
    pub(crate) fn new<const N: usize>(text: &str, values: [&str; N], effect: K) -> Option<Self> {
        if text.len() > MAX_BYTES || !values.first()?.starts_with('"') {
            return None;
        }
        let place = |(value, position): (&str, usize)| {
            let start = value.as_ptr().addr() - text.as_ptr().addr();
            (start..start + value.len(), position)
        };
        let present = values
            .into_iter()
            .zip(0..)
            .filter(|(value, _)| !value.is_empty());
        let mut values = present.map(place).collect::<Vec<_>>();
        values.sort_unstable_by_key(|(place, _)| place.start);
        Some(Self {
            text: text.to_owned(),
            values,
            effect,
        })
    }

    /// Returns the effect, the piece and the JSON of the other values of an event that is the same
    /// as the last one but for them. The text around them is equal and each of them is a whole
    /// value, so that reading all members of the event finds the same.
    pub(crate) fn repeated<'l, 't, const N: usize>(
        last: Option<&'l Self>,
        text: &'t str,
    ) -> Option<(&'l K, Cow<'t, str>, [&'t str; N])> {
        let last = last?;
        let mut piece = Cow::Borrowed("");
        let mut values = [""; N];
        let mut json = JsonReader::new(text);
        let mut from = 0;
        for (place, position) in &last.values {
            json.literal(last.text.get(from..place.start)?)?;
            match values.get_mut(*position) {
                Some(value) if *position > 0 => {
                    *value = json.raw_like(last.text.get(place.clone())?).ok()?;
                }
                _ => piece = json.string().ok()?,
            }
            from = place.end;
        }
        json.literal(last.text.get(from..)?)?;
        (json.place() == text.len()).then_some((&last.effect, piece, values))
    }
}
