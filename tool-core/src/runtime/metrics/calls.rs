//! The last calls of a session, in few bytes. R-M5

use crate::response::ErrorKind;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The calls of one session: how many there were, and the last of them. Every call is written here, so it is written as
/// it came: what is to be hidden of the arguments is hidden when somebody reads.
#[derive(Default)]
pub(crate) struct Calls(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    calls: u64,
    errors: u64,
    /// Call after call: a head, and the beginning of the arguments.
    bytes: Vec<u8>,
}

/// A call that was answered.
pub(crate) struct Answered<'a> {
    /// Where the tool stands among the session's; `None` for a name that nobody knows.
    pub(crate) tool: Option<usize>,
    pub(crate) turn: u64,
    pub(crate) duration: Duration,
    pub(crate) error: Option<ErrorKind>,
    pub(crate) arguments: &'a str,
}

/// A call that is kept.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct KeptCall {
    pub(super) tool: Option<usize>,
    pub(super) turn: u64,
    pub(super) duration: Duration,
    pub(super) error: Option<ErrorKind>,
    /// The arguments, or their beginning.
    pub(super) arguments: String,
    /// Whether there were more.
    pub(super) cut: bool,
}

const HEAD: usize = 16;

/// The bytes of a call's arguments that are kept.
const ARGUMENTS: usize = 256;

/// What the bytes grow to at first.
const FIRST: usize = 256;

impl Calls {
    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a call, in `most` bytes with those that came before.
    #[inline]
    pub(crate) fn add(&self, call: &Answered<'_>, most: usize) {
        let mut kept = self.lock();
        kept.calls += 1;
        kept.errors += u64::from(call.error.is_some());
        let room = most.saturating_sub(HEAD).min(ARGUMENTS);
        if most < HEAD {
            return;
        }
        let text = match call.arguments {
            text if text.len() <= room => text,
            text => text.get(..text.floor_char_boundary(room)).unwrap_or_default(),
        };
        let needed = HEAD + text.len();
        if kept.bytes.len() + needed > kept.bytes.capacity() {
            kept.make_room(needed, most);
        }
        kept.bytes.extend_from_slice(&head(call, text).to_le_bytes());
        kept.bytes.extend_from_slice(text.as_bytes());
    }

    /// How many calls were answered, and how many of them with an error.
    pub(super) fn counts(&self) -> (u64, u64) {
        let kept = self.lock();
        (kept.calls, kept.errors)
    }

    /// The last calls, the oldest first.
    pub(super) fn last(&self) -> Vec<KeptCall> {
        let kept = self.lock();
        let mut rest = kept.bytes.as_slice();
        std::iter::from_fn(|| {
            let (call, after) = read(rest)?;
            rest = after;
            Some(call)
        })
        .collect()
    }
}

impl Kept {
    /// Grows, or else forgets the oldest.
    #[cold]
    fn make_room(&mut self, needed: usize, most: usize) {
        if self.bytes.len() + needed > most {
            self.forget(needed.max(most / 2), most);
        }
        let wanted = self.bytes.len() + needed;
        let size = wanted.max(self.bytes.capacity() * 2).max(FIRST).min(most);
        self.bytes.reserve_exact(size.saturating_sub(self.bytes.len()));
    }

    /// Forgets the oldest until so many bytes are free: half of all at once, so that what stays is seldom moved.
    fn forget(&mut self, free: usize, most: usize) {
        let mut gone = 0;
        while most.saturating_sub(self.bytes.len() - gone) < free {
            let Some(rest) = self.bytes.get(gone..).filter(|rest| !rest.is_empty()) else { break };
            gone += read(rest).map_or(rest.len(), |(_, after)| rest.len() - after.len());
        }
        self.bytes.drain(..gone);
    }
}

/// What stands before the arguments: the length that is kept of them, the tool and the turn, how it went.
#[inline]
fn head(call: &Answered<'_>, text: &str) -> u128 {
    let length = u16::try_from(text.len()).unwrap_or(0);
    let tool = call.tool.and_then(|at| u32::try_from(at).ok()).unwrap_or(u32::MAX);
    let turn = u32::try_from(call.turn).unwrap_or(u32::MAX);
    let micros = call.duration.as_secs().saturating_mul(1_000_000) + u64::from(call.duration.subsec_micros());
    let micros = u32::try_from(micros).unwrap_or(u32::MAX);
    let error = call.error.map_or(0, |kind| kind as u8 + 1);
    let cut = u8::from(text.len() < call.arguments.len());
    let low = u64::from(length) | u64::from(error) << 16 | u64::from(cut) << 24 | u64::from(tool) << 32;
    u128::from(low) | u128::from(u64::from(turn) | u64::from(micros) << 32) << 64
}

/// The first call of these, and what comes after it.
fn read(bytes: &[u8]) -> Option<(KeptCall, &[u8])> {
    let (head, rest) = bytes.split_first_chunk::<HEAD>()?;
    let [length @ .., error, cut, t0, t1, t2, t3, n0, n1, n2, n3, m0, m1, m2, m3] = *head;
    let (text, rest) = rest.split_at_checked(u16::from_le_bytes(length).into())?;
    let tool = u32::from_le_bytes([t0, t1, t2, t3]);
    let call = KeptCall {
        tool: (tool != u32::MAX).then_some(tool as usize),
        turn: u32::from_le_bytes([n0, n1, n2, n3]).into(),
        duration: Duration::from_micros(u32::from_le_bytes([m0, m1, m2, m3]).into()),
        error: ErrorKind::ALL.get(usize::from(error).wrapping_sub(1)).copied(),
        arguments: String::from_utf8_lossy(text).into_owned(),
        cut: cut != 0,
    };
    Some((call, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn answered(number: u64, arguments: &str) -> Answered<'_> {
        let error = number.is_multiple_of(3).then_some(ErrorKind::ALL[usize::try_from(number).expect("small") % 17]);
        let tool = (!number.is_multiple_of(5)).then_some(usize::try_from(number).expect("small"));
        Answered { tool, turn: number / 4, duration: Duration::from_micros(number * 7), error, arguments }
    }

    proptest! {
        // R-M5
        #[test]
        fn the_last_calls_are_kept_within_their_bytes(texts in prop::collection::vec(".{0,300}", 0..40), most in 0..2_000_usize) {
            let calls = Calls::default();
            for (number, text) in texts.iter().enumerate() {
                calls.add(&answered(number as u64, text), most);
                prop_assert!(calls.lock().bytes.len() <= most && calls.lock().bytes.capacity() <= most);
            }
            let kept = calls.last();
            prop_assert_eq!(calls.counts().0, texts.len() as u64);
            // What fits by itself is never all forgotten.
            prop_assert!(texts.is_empty() || most < HEAD || !kept.is_empty());
            let first = texts.len() - kept.len();
            for (number, kept) in (first..).zip(kept) {
                let call = answered(number as u64, &texts[number]);
                prop_assert_eq!((kept.tool, kept.turn, kept.duration, kept.error), (call.tool, call.turn, call.duration, call.error));
                prop_assert!(texts[number].starts_with(&kept.arguments));
                prop_assert_eq!(kept.cut, kept.arguments.len() < texts[number].len());
            }
        }
    }

    // R-M5
    #[test]
    fn short_calls_are_kept_by_the_dozen() {
        let calls = Calls::default();
        (0..1_000).for_each(|number| calls.add(&answered(number, r#"{"id":1234}"#), 1_024));
        assert!((18..=38).contains(&calls.last().len()), "{}", calls.last().len());
    }
}
