//! The most recent calls of one session, kept in few bytes.

use crate::call::{ErrorKind, ToolResponse};
use parking_lot::Mutex;

/// The calls of one session: how many were answered, and the most recent ones.
///
/// Every call is written here, so its arguments are copied as they came and redacted when they are read.
#[derive(Default)]
pub(crate) struct CallLog(Mutex<Log>);

#[derive(Default)]
struct Log {
    answered: u64,
    failed: u64,
    /// One entry after another: a header of [`HEADER`] bytes, then the beginning of the arguments.
    entries: Vec<u8>,
}

/// An answered call, as it is measured.
pub(crate) struct AnsweredCall<'a> {
    /// The tool's index among the session's tools; `None` for an unknown name.
    pub(crate) tool: Option<usize>,
    pub(crate) turn: u64,
    /// The time from call to answer, at most 71 minutes.
    pub(crate) micros: u32,
    pub(crate) error: Option<ErrorKind>,
    pub(crate) arguments: &'a str,
    /// True if the log has kept only the beginning of the arguments.
    pub(crate) truncated: bool,
}

impl<'a> AnsweredCall<'a> {
    /// Describes the call that `response` answers.
    #[inline]
    pub(crate) fn new(tool: Option<usize>, turn: u64, response: &ToolResponse, arguments: &'a str) -> Self {
        let micros = u32::try_from(response.meta().duration().as_micros()).unwrap_or(u32::MAX);
        Self { tool, turn, micros, error: response.error().map(|error| error.kind), arguments, truncated: false }
    }
}

const HEADER: usize = 16;
/// The most bytes of a call's arguments that are kept.
const MAX_ARGUMENTS: usize = 256;
/// The first size of the buffer.
const INITIAL_CAPACITY: usize = 256;

impl CallLog {
    /// Adds a call to a log of at most `limit` bytes, in place of the oldest calls where it is full.
    #[inline]
    pub(crate) fn add(&self, call: &AnsweredCall<'_>, limit: usize) {
        let mut log = self.0.lock();
        log.answered += 1;
        log.failed += u64::from(call.error.is_some());
        let kept = MAX_ARGUMENTS.min(limit.saturating_sub(HEADER));
        let text = &call.arguments[..call.arguments.floor_char_boundary(kept)];
        let needed = HEADER + text.len();
        if needed > limit {
            return;
        }
        if log.entries.capacity() - log.entries.len() < needed {
            log.make_room(needed, limit);
        }
        log.entries.extend_from_slice(&header(call, text));
        log.entries.extend_from_slice(text.as_bytes());
    }

    /// Returns the number of answered calls, and how many of them failed.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let log = self.0.lock();
        (log.answered, log.failed)
    }

    /// Converts the most recent calls, oldest first.
    pub(crate) fn recent<T>(&self, convert: impl Fn(&AnsweredCall<'_>) -> T) -> Vec<T> {
        // Copied, so that the conversion does not hold up calls.
        let entries = self.0.lock().entries.clone();
        let mut rest = entries.as_slice();
        std::iter::from_fn(|| {
            let (call, after) = read(rest)?;
            rest = after;
            Some(convert(&call))
        })
        .collect()
    }
}

impl Log {
    /// Drops the oldest entries or enlarges the buffer, so that `needed` more bytes fit into `limit`.
    #[cold]
    fn make_room(&mut self, needed: usize, limit: usize) {
        if self.entries.len() + needed > limit {
            // Half of the log at once, so that the rest is seldom moved.
            let free = needed.max(limit / 2);
            let mut dropped = 0;
            while limit.saturating_sub(self.entries.len() - dropped) < free
                && let Some((_, _, rest)) = split_entry(&self.entries[dropped..])
            {
                dropped = self.entries.len() - rest.len();
            }
            self.entries.drain(..dropped);
        }
        let wanted = (self.entries.len() + needed).max(2 * self.entries.capacity()).max(INITIAL_CAPACITY);
        self.entries.reserve_exact(wanted.min(limit).saturating_sub(self.entries.len()));
    }
}

/// Encodes an entry's header: the length of the text (2 bytes), the error (1), the truncation (1), the tool (4), the
/// turn (4) and the duration (4).
#[inline]
fn header(call: &AnsweredCall<'_>, text: &str) -> [u8; HEADER] {
    let length = u16::try_from(text.len()).unwrap_or(0);
    let error = call.error.map_or(0, |kind| kind as u8 + 1);
    let truncated = u8::from(text.len() < call.arguments.len());
    let tool = call.tool.and_then(|index| u32::try_from(index).ok()).unwrap_or(u32::MAX);
    let turn = u32::try_from(call.turn).unwrap_or(u32::MAX);
    let mut header = [0; HEADER];
    header[..2].copy_from_slice(&length.to_le_bytes());
    header[2..4].copy_from_slice(&[error, truncated]);
    header[4..8].copy_from_slice(&tool.to_le_bytes());
    header[8..12].copy_from_slice(&turn.to_le_bytes());
    header[12..].copy_from_slice(&call.micros.to_le_bytes());
    header
}

/// Splits the first entry into its header and its text, and returns them with the entries after it.
fn split_entry(entries: &[u8]) -> Option<(&[u8; HEADER], &[u8], &[u8])> {
    let (header, rest) = entries.split_first_chunk()?;
    let (text, rest) = rest.split_at_checked(u16::from_le_bytes([header[0], header[1]]).into())?;
    Some((header, text, rest))
}

/// Decodes the first entry, and returns it with the entries after it.
fn read(entries: &[u8]) -> Option<(AnsweredCall<'_>, &[u8])> {
    let (header, text, rest) = split_entry(entries)?;
    let number = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let tool = number(4);
    let call = AnsweredCall {
        tool: (tool != u32::MAX).then_some(tool as usize),
        turn: number(8).into(),
        micros: number(12),
        error: ErrorKind::ALL.get(usize::from(header[2]).wrapping_sub(1)).copied(),
        arguments: str::from_utf8(text).unwrap_or_default(),
        truncated: header[3] != 0,
    };
    Some((call, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn answered(number: u64, arguments: &str) -> AnsweredCall<'_> {
        let error = number.is_multiple_of(3).then_some(ErrorKind::ALL[usize::try_from(number).expect("small") % 17]);
        let tool = (!number.is_multiple_of(5)).then_some(usize::try_from(number).expect("small"));
        let micros = u32::try_from(number).expect("small") * 7;
        AnsweredCall { tool, turn: number / 4, micros, error, arguments, truncated: false }
    }

    proptest! {
        #[test]
        fn keeps_recent_calls_within_the_limit(texts in prop::collection::vec(".{0,300}", 0..40), limit in prop_oneof![Just(0), HEADER + 48..2_000_usize]) {
            let log = CallLog::default();
            for (number, text) in texts.iter().enumerate() {
                log.add(&answered(number as u64, text), limit);
                prop_assert!(log.0.lock().entries.len() <= limit && log.0.lock().entries.capacity() <= limit);
            }
            let kept = log.recent(|kept| {
                ((kept.tool, kept.turn, kept.error), kept.micros, kept.arguments.to_owned(), kept.truncated)
            });
            prop_assert_eq!(log.counts().0, texts.len() as u64);
            // The newest call always stays.
            prop_assert!(texts.is_empty() || limit == 0 || !kept.is_empty());
            let first = texts.len() - kept.len();
            for (number, (kept, micros, arguments, truncated)) in (first..).zip(kept) {
                let call = answered(number as u64, &texts[number]);
                prop_assert_eq!(kept, (call.tool, call.turn, call.error));
                prop_assert_eq!(micros, call.micros);
                prop_assert!(texts[number].starts_with(&arguments));
                prop_assert_eq!(truncated, arguments.len() < texts[number].len());
            }
        }
    }

    #[test]
    fn keeps_dozens_of_short_calls() {
        let log = CallLog::default();
        (0..1_000).for_each(|number| log.add(&answered(number, r#"{"id":1234}"#), 1_024));
        let kept = log.recent(|_| ()).len();
        assert!((18..=38).contains(&kept), "{kept}");
    }
}
