//! The most recent calls of one session, kept in few bytes, and its audit log.

use crate::call::{ErrorKind, ToolResponse};
use crate::session::audit::{AuditEntry, AuditFacts, AuditLog, CallOutcome};
use crate::session::metrics::spare_room::{Spare, SpareRoom};
use crate::text::prefix;
use crate::trace::Redaction;
use parking_lot::Mutex;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use std::array;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// The name under which calls of unknown tools are counted together, so that invented names create
/// no series.
pub(crate) const UNKNOWN: &str = "unknown";

/// The calls of one session: how many were answered, and the most recent ones.
///
/// Every call is written here, so its arguments are copied as they came and redacted when they are
/// read.
pub(crate) struct CallLog {
    log: Mutex<Log>,
    /// The most bytes that the entries take.
    limit: usize,
    redaction: Redaction,
    spare: Arc<SpareRoom>,
}

#[derive(Default)]
struct Log {
    answered: u64,
    failed: u64,
    audit: AuditLog,
    /// One entry after another: a header of [`HEADER`] bytes, the tool's name, and the beginning of
    /// the arguments. A ring, so that the newest entry takes the place of the oldest ones and no
    /// other is moved.
    entries: VecDeque<u8>,
}

/// An answered call, as it is measured.
#[derive(Clone, Copy)]
pub(crate) struct AnsweredCall<'a> {
    /// The tool's name, or [`UNKNOWN`].
    pub(crate) tool: &'a str,
    pub(crate) turn: u64,
    /// The time from call to answer. A log keeps at most 71 minutes of it.
    pub(crate) micros: u64,
    pub(crate) error: Option<ErrorKind>,
    pub(crate) arguments: &'a str,
    /// True if the log has kept only the beginning of the arguments.
    pub(crate) truncated: bool,
    /// True if the call took longer than the policy's soft limit.
    pub(crate) slow: bool,
    /// True if the call was answered with an error before its tool ran.
    pub(crate) refused: bool,
    /// The facts for the audit log of a session in memory, unless a settlement has brought them.
    pub(crate) audit: Option<AuditFacts<'a>>,
}

impl<'a> AnsweredCall<'a> {
    /// Describes the call that `response` answers.
    #[inline]
    pub(crate) fn new(
        tool: &'a str,
        turn: u64,
        response: &ToolResponse,
        arguments: &'a str,
    ) -> Self {
        let micros = u64::try_from(response.meta().duration().as_micros()).unwrap_or(u64::MAX);
        let error = response.error().map(|error| error.kind);
        Self {
            tool,
            turn,
            micros,
            error,
            arguments,
            truncated: false,
            slow: false,
            refused: false,
            audit: None,
        }
    }

    /// Returns the call with the beginning of its arguments that a log keeps.
    pub(crate) fn shortened(&self) -> Self {
        let arguments = prefix(self.arguments, MAX_ARGUMENTS);
        Self {
            arguments,
            truncated: arguments.len() < self.arguments.len(),
            ..*self
        }
    }

    /// Describes a call that was redacted before.
    pub(crate) fn of_kept(call: &'a SessionCall) -> Self {
        let micros = u64::try_from(call.duration.as_micros()).unwrap_or(u64::MAX);
        let SessionCall {
            tool,
            turn,
            arguments,
            error,
            ..
        } = call;
        Self {
            tool,
            turn: *turn,
            micros,
            error: *error,
            arguments,
            truncated: false,
            slow: false,
            refused: false,
            audit: None,
        }
    }
}

const HEADER: usize = 16;
/// The most bytes of a call's arguments that are kept.
const MAX_ARGUMENTS: usize = 256;
/// The bytes that each log may take. They are allocated at once, as each growth would copy the
/// entries.
const OWN_BYTES: usize = 1_024;

impl CallLog {
    /// Creates a log of at most `limit` bytes.
    pub(crate) fn new(limit: usize, redaction: Redaction, spare: &Arc<SpareRoom>) -> Self {
        Self {
            limit,
            redaction,
            spare: Arc::clone(spare),
            log: Mutex::default(),
        }
    }

    /// Adds a call, in place of the oldest calls where the log is full.
    #[inline]
    pub(crate) fn add(&self, call: &AnsweredCall<'_>) {
        let limit = self.limit;
        let mut log = self.log.lock();
        log.answered += 1;
        log.failed += u64::from(call.error.is_some());
        if let Some(facts) = &call.audit {
            log.audit.add(
                facts,
                call.turn,
                call.micros,
                CallOutcome::of(call.error, call.refused),
                &self.spare.audit_entries,
            );
        }
        let kept = MAX_ARGUMENTS.min(limit.saturating_sub(HEADER + call.tool.len()));
        let text = prefix(call.arguments, kept);
        let needed = HEADER + call.tool.len() + text.len();
        if needed > limit {
            return;
        }
        if log.entries.capacity() - log.entries.len() < needed {
            log.make_room(needed, limit, &self.spare.call_bytes);
        }
        for part in [&header(call, text), call.tool.as_bytes(), text.as_bytes()] {
            log.entries.extend(part);
        }
    }

    /// Adds an entry to the audit log.
    pub(crate) fn add_entry(&self, entry: &AuditEntry) {
        let spare = &self.spare.audit_entries;
        self.log.lock().audit.add_entry(entry, spare);
    }

    /// Returns the audit log of a session of this principal, oldest entry first.
    pub(crate) fn audit(&self, principal: &str) -> Vec<AuditEntry> {
        self.log.lock().audit.entries(principal)
    }

    /// Returns the number of answered calls, and how many of them failed.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let log = self.log.lock();
        (log.answered, log.failed)
    }

    /// Returns the most recent calls, oldest first, redacted.
    pub(crate) fn recent(&self) -> Vec<SessionCall> {
        // Copied, so that redaction does not hold up calls.
        let entries = self.log.lock().entries.make_contiguous().to_vec();
        calls_in(&entries)
            .map(|call| SessionCall::new(&call, &self.redaction))
            .collect()
    }

    /// Returns the number of turns from `first` on of which calls are kept.
    pub(crate) fn turns_since(&self, first: u64) -> u64 {
        let mut log = self.log.lock();
        let turns = calls_in(log.entries.make_contiguous())
            .map(|call| call.turn)
            .filter(|turn| *turn >= first);
        turns.collect::<BTreeSet<_>>().len() as u64
    }
}

impl Drop for CallLog {
    fn drop(&mut self) {
        let log = self.log.get_mut();
        let bytes = log.entries.capacity().saturating_sub(OWN_BYTES);
        self.spare.call_bytes.give_back(bytes);
        self.spare.audit_entries.give_back(log.audit.taken());
    }
}

fn calls_in(entries: &[u8]) -> impl Iterator<Item = AnsweredCall<'_>> {
    std::iter::successors(read(entries), |(_, rest)| read(rest)).map(|(call, _)| call)
}

impl Log {
    /// Drops the oldest entries or enlarges the buffer, so that `needed` more bytes fit into
    /// `limit`.
    #[cold]
    fn make_room(&mut self, needed: usize, limit: usize, spare: &Spare) {
        let granted = self.entries.capacity().max(OWN_BYTES.min(limit));
        let wanted = (self.entries.len() + needed)
            .max(2 * self.entries.capacity())
            .max(OWN_BYTES)
            .min(limit);
        let limit = if wanted <= granted || spare.take(wanted - granted) {
            limit
        } else {
            granted
        };
        // A quarter of the log at once, so that few calls have to make room.
        let free = if self.entries.len() + needed > limit {
            needed.max(limit / 4)
        } else {
            needed
        };
        let mut dropped = 0;
        while limit.saturating_sub(self.entries.len() - dropped) < free
            && dropped < self.entries.len()
        {
            dropped += self.length_at(dropped);
        }
        self.entries.drain(..dropped);
        self.entries
            .reserve_exact(wanted.min(limit).saturating_sub(self.entries.len()));
    }

    /// Returns the length of the entry that begins there.
    fn length_at(&self, start: usize) -> usize {
        let (name, text) = lengths(&array::from_fn(|at| self.entries[start + at]));
        HEADER + name + text
    }
}

/// Encodes an entry's header: the length of the text (2 bytes), the error (1), the truncation (1),
/// the length of the name (4), the turn (4) and the duration (4).
#[inline]
fn header(call: &AnsweredCall<'_>, text: &str) -> [u8; HEADER] {
    let length = u16::try_from(text.len()).unwrap_or(0);
    let error = call.error.map_or(0, |kind| kind as u8 + 1);
    let truncated = u8::from(text.len() < call.arguments.len());
    let name = u32::try_from(call.tool.len()).unwrap_or(0);
    let turn = u32::try_from(call.turn).unwrap_or(u32::MAX);
    let micros = u32::try_from(call.micros).unwrap_or(u32::MAX);
    let mut header = [0; HEADER];
    header[..2].copy_from_slice(&length.to_le_bytes());
    header[2..4].copy_from_slice(&[error, truncated]);
    header[4..8].copy_from_slice(&name.to_le_bytes());
    header[8..12].copy_from_slice(&turn.to_le_bytes());
    header[12..].copy_from_slice(&micros.to_le_bytes());
    header
}

fn number(header: &[u8; HEADER], at: usize) -> u32 {
    u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
}

/// Returns the lengths of the name and the text of an entry.
fn lengths(header: &[u8; HEADER]) -> (usize, usize) {
    (
        number(header, 4) as usize,
        u16::from_le_bytes([header[0], header[1]]).into(),
    )
}

/// Decodes the first entry, and returns it with the entries after it.
fn read(entries: &[u8]) -> Option<(AnsweredCall<'_>, &[u8])> {
    let (header, rest) = entries.split_first_chunk::<HEADER>()?;
    let (name, text) = lengths(header);
    let (name, rest) = rest.split_at_checked(name)?;
    let (text, rest) = rest.split_at_checked(text)?;
    let call = AnsweredCall {
        tool: str::from_utf8(name).unwrap_or_default(),
        turn: number(header, 8).into(),
        micros: number(header, 12).into(),
        error: ErrorKind::ALL
            .get(usize::from(header[2]).wrapping_sub(1))
            .copied(),
        arguments: str::from_utf8(text).unwrap_or_default(),
        truncated: header[3] != 0,
        slow: false,
        refused: false,
        audit: None,
    };
    Some((call, rest))
}

/// An answered call of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SessionCall {
    /// The tool's name, or `unknown` for a name that no tool has.
    pub tool: String,
    /// The turn in which the call was answered, counted from 0.
    pub turn: u64,
    /// The arguments as JSON text, redacted by the policy's [`Redaction`]. Arguments that are not
    /// JSON are described in a JSON string. Of arguments that were too long to keep, a JSON string
    /// holds the beginning and `...`.
    #[serde(serialize_with = "as_json", deserialize_with = "from_json")]
    pub arguments: String,
    /// The time from call to answer.
    #[serde(
        rename = "durationMs",
        serialize_with = "as_milliseconds",
        deserialize_with = "from_milliseconds"
    )]
    pub duration: Duration,
    /// True when the tool succeeded.
    pub ok: bool,
    /// The type of the error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorKind>,
}

impl SessionCall {
    /// Describes a call, redacted.
    pub(crate) fn new(call: &AnsweredCall<'_>, redaction: &Redaction) -> Self {
        let arguments = if call.truncated {
            Redaction::quote(&redaction.json_prefix(call.arguments))
        } else {
            let redacted = redaction.json(call.arguments);
            let is_json = serde_json::from_str::<&RawValue>(&redacted).is_ok();
            if is_json {
                redacted
            } else {
                Redaction::quote(&redacted)
            }
        };
        Self {
            tool: call.tool.to_owned(),
            turn: call.turn,
            arguments,
            duration: Duration::from_micros(call.micros),
            ok: call.error.is_none(),
            error: call.error,
        }
    }
}

pub(crate) fn as_milliseconds<S: Serializer>(
    duration: &Duration,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    // A session may last longer than `milliseconds` of a call can say.
    #[allow(clippy::cast_precision_loss)] // exact below 285 years
    serializer.serialize_f64(duration.as_micros() as f64 / 1000.0)
}

fn from_milliseconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let milliseconds = f64::deserialize(deserializer)?;
    Duration::try_from_secs_f64(milliseconds / 1_000.0).map_err(D::Error::custom)
}

/// Writes the text as it is, with escapes that parsing to a value would lose.
fn as_json<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    match serde_json::from_str::<&RawValue>(text) {
        Ok(json) => json.serialize(serializer),
        Err(_) => serializer.serialize_str(text),
    }
}

fn from_json<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(Box::<RawValue>::deserialize(deserializer)?.get().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn answered(number: u64, arguments: &str) -> AnsweredCall<'_> {
        let error = number
            .is_multiple_of(3)
            .then_some(ErrorKind::ALL[usize::try_from(number).expect("small") % 17]);
        let tool = ["search", "get", UNKNOWN][usize::try_from(number).expect("small") % 3];
        let micros = number * 7;
        AnsweredCall {
            tool,
            turn: number / 4,
            micros,
            error,
            arguments,
            truncated: false,
            slow: false,
            refused: false,
            audit: None,
        }
    }

    fn log(limit: usize) -> CallLog {
        CallLog::new(limit, Redaction::new(), &Arc::default())
    }

    proptest! {
        #[test]
        fn keeps_recent_calls_within_the_limit(texts in prop::collection::vec(".{0,300}", 0..40), limit in prop_oneof![Just(0), HEADER + 56..2_000_usize]) {
            let log = log(limit);
            for (number, text) in texts.iter().enumerate() {
                log.add(&answered(number as u64, text));
                prop_assert!(log.log.lock().entries.len() <= limit && log.log.lock().entries.capacity() <= limit);
            }
            let entries = log.log.lock().entries.make_contiguous().to_vec();
            let kept = calls_in(&entries).collect::<Vec<_>>();
            prop_assert_eq!(log.counts().0, texts.len() as u64);
            // The newest call always stays.
            prop_assert!(texts.is_empty() || limit == 0 || !kept.is_empty());
            let first = texts.len() - kept.len();
            for (number, kept) in (first..).zip(&kept) {
                let call = answered(number as u64, &texts[number]);
                prop_assert_eq!((kept.tool, kept.turn, kept.error), (call.tool, call.turn, call.error));
                prop_assert_eq!(kept.micros, call.micros);
                prop_assert!(texts[number].starts_with(kept.arguments));
                prop_assert_eq!(kept.truncated, kept.arguments.len() < texts[number].len());
            }
        }
    }

    #[test]
    fn many_logs_share_the_spare_bytes() {
        let spare = Arc::<SpareRoom>::default();
        let all = spare.call_bytes.left();
        let fill = |_| {
            let log = CallLog::new(16 * 1024, Redaction::new(), &spare);
            (0..1_000).for_each(|number| log.add(&answered(number, r#"{"id":1234}"#)));
            log
        };
        let logs = (0..500).map(fill).collect::<Vec<_>>();
        let bytes = logs
            .iter()
            .map(|log| log.log.lock().entries.capacity())
            .sum::<usize>();
        assert!(bytes <= all + logs.len() * OWN_BYTES, "{bytes}");
        let kept = logs
            .iter()
            .map(|log| log.recent().len())
            .collect::<Vec<_>>();
        assert!(
            kept[..50].iter().all(|kept| *kept >= 200) && kept.iter().all(|kept| *kept >= 12),
            "{kept:?}"
        );
        drop(logs);
        assert_eq!(spare.call_bytes.left(), all);
    }

    #[test]
    fn keeps_hundreds_of_short_calls() {
        let log = log(16 * 1024);
        (0..1_000).for_each(|number| log.add(&answered(number, r#"{"id":1234}"#)));
        let kept = log.recent();
        assert!((200..=500).contains(&kept.len()), "{}", kept.len());
        let text = serde_json::to_string(&kept).expect("serialises");
        assert_eq!(
            serde_json::from_str::<Vec<SessionCall>>(&text).expect("parses"),
            kept
        );
    }
}
