//! The last calls of a session, in few bytes. R-M5

use crate::call::error::ErrorKind;
use crate::call::meta::milliseconds;
use crate::call::response::ToolResponse;
use crate::session::metrics::UNKNOWN;
use crate::session::metrics::context::{ContextMetrics, Monitor};
use crate::session::session::Core;
use crate::trace::redaction::Redaction;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// The calls of one session: how many there were, and the last of them. Every call is written here, so it is written as
/// it came: what is to be hidden of the arguments is hidden when somebody reads.
#[derive(Default)]
pub(crate) struct Calls {
    answered: AtomicU64,
    failed: AtomicU64,
    kept: Mutex<Kept>,
}

/// Call after call: a head, and the beginning of the arguments.
#[derive(Default)]
struct Kept(Vec<u8>);

/// A call that was answered.
pub(crate) struct Answered<'a> {
    /// Where the tool stands among the session's; `None` for a name that nobody knows.
    pub(crate) tool: Option<usize>,
    pub(crate) turn: u64,
    pub(crate) began: Instant,
    /// From there to the answer: 71 minutes at most.
    pub(crate) micros: u32,
    pub(crate) error: Option<ErrorKind>,
    pub(crate) arguments: &'a str,
}

impl<'a> Answered<'a> {
    /// What an answer says of itself. `tool` is none, and the turn 0.
    #[inline]
    pub(crate) fn of(response: &ToolResponse, began: Instant, arguments: &'a str) -> Self {
        let taken = response.meta().duration();
        let micros = taken.as_secs().saturating_mul(1_000_000).saturating_add(taken.subsec_micros().into());
        let micros = u32::try_from(micros).unwrap_or(u32::MAX);
        let error = response.error().map(|error| error.kind);
        Self { tool: None, turn: 0, began, micros, error, arguments }
    }
}

/// A call that is kept.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct KeptCall {
    pub(crate) tool: Option<usize>,
    pub(crate) turn: u64,
    pub(crate) duration: Duration,
    pub(crate) error: Option<ErrorKind>,
    /// The arguments, or their beginning.
    pub(crate) arguments: String,
    /// Whether there were more.
    pub(crate) cut: bool,
}

const HEAD: usize = 16;

/// The bytes of a call's arguments that are kept.
const ARGUMENTS: usize = 256;

/// Those that are never cut, whatever the policy.
const SHORT: usize = 48;

/// What the bytes grow to at first.
const FIRST: usize = 256;

impl Calls {
    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a call, in `most` bytes with those that came before.
    #[allow(clippy::inline_always)] // a sixth of what it costs, as measured
    #[inline(always)]
    pub(crate) fn add(&self, call: &Answered<'_>, most: usize) {
        self.answered.fetch_add(1, Ordering::Relaxed);
        if call.error.is_some() {
            self.failed.fetch_add(1, Ordering::Relaxed);
        }
        if most == 0 {
            return;
        }
        let text = if call.arguments.len() <= SHORT { call.arguments } else { beginning(call.arguments, most) };
        let needed = HEAD + text.len();
        let mut kept = self.lock();
        if kept.0.capacity() - kept.0.len() < needed && !kept.make_room(needed, most) {
            return;
        }
        kept.0.extend_from_slice(&head(call, text).to_le_bytes());
        kept.0.extend_from_slice(text.as_bytes());
    }

    /// How many calls were answered, and how many of them with an error.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.answered.load(Ordering::Relaxed), self.failed.load(Ordering::Relaxed))
    }

    /// The last calls, the oldest first.
    pub(crate) fn last(&self) -> Vec<KeptCall> {
        let kept = self.lock();
        let mut rest = kept.0.as_slice();
        std::iter::from_fn(|| {
            let (call, after) = read(rest)?;
            rest = after;
            Some(call)
        })
        .collect()
    }
}

impl Kept {
    /// Grows, or else forgets the oldest; false where it does not fit at all.
    #[cold]
    fn make_room(&mut self, needed: usize, most: usize) -> bool {
        if needed > most {
            return false;
        }
        if self.0.len() + needed > most {
            self.forget(needed.max(most / 2), most);
        }
        let wanted = self.0.len() + needed;
        let size = wanted.max(self.0.capacity() * 2).max(FIRST).min(most);
        self.0.reserve_exact(size.saturating_sub(self.0.len()));
        true
    }

    /// Forgets the oldest until so many bytes are free: half of all at once, so that what stays is seldom moved.
    fn forget(&mut self, free: usize, most: usize) {
        let mut gone = 0;
        while most.saturating_sub(self.0.len() - gone) < free {
            let Some([low, high]) = self.0.get(gone..).and_then(|rest| rest.first_chunk::<2>()) else { break };
            gone += HEAD + usize::from(u16::from_le_bytes([*low, *high]));
        }
        self.0.drain(..gone);
    }
}

/// What is kept of arguments that are not short.
#[inline]
fn beginning(text: &str, most: usize) -> &str {
    let room = most.saturating_sub(HEAD).min(ARGUMENTS);
    if text.len() <= room { text } else { text.get(..text.floor_char_boundary(room)).unwrap_or_default() }
}

/// What stands before the arguments: the length that is kept of them, the tool and the turn, how it went.
#[inline]
fn head(call: &Answered<'_>, text: &str) -> u128 {
    let length = u16::try_from(text.len()).unwrap_or(0);
    let tool = call.tool.and_then(|at| u32::try_from(at).ok()).unwrap_or(u32::MAX);
    let turn = u32::try_from(call.turn).unwrap_or(u32::MAX);
    let error = call.error.map_or(0, |kind| kind as u8 + 1);
    let cut = u8::from(text.len() < call.arguments.len());
    let low = u64::from(length) | u64::from(error) << 16 | u64::from(cut) << 24 | u64::from(tool) << 32;
    u128::from(low) | u128::from(u64::from(turn) | u64::from(call.micros) << 32) << 64
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
        let micros = u32::try_from(number).expect("small") * 7;
        Answered { tool, turn: number / 4, began: Instant::now(), micros, error, arguments }
    }

    proptest! {
        // R-M5
        #[test]
        fn the_last_calls_are_kept_within_their_bytes(texts in prop::collection::vec(".{0,300}", 0..40), most in prop_oneof![Just(0), HEAD + SHORT..2_000_usize]) {
            let calls = Calls::default();
            for (number, text) in texts.iter().enumerate() {
                calls.add(&answered(number as u64, text), most);
                prop_assert!(calls.lock().0.len() <= most && calls.lock().0.capacity() <= most);
            }
            let kept = calls.last();
            prop_assert_eq!(calls.counts().0, texts.len() as u64);
            // What fits by itself is never all forgotten.
            prop_assert!(texts.is_empty() || most == 0 || !kept.is_empty());
            let first = texts.len() - kept.len();
            for (number, kept) in (first..).zip(kept) {
                let call = answered(number as u64, &texts[number]);
                prop_assert_eq!((kept.tool, kept.turn, kept.error), (call.tool, call.turn, call.error));
                prop_assert_eq!(kept.duration, Duration::from_micros(call.micros.into()));
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

// ---- What one session has done. R-M5

/// What is measured of one session.
pub(crate) struct Measured {
    pub(crate) calls: Calls,
    pub(crate) context: Monitor,
    opened: Instant,
    ended: OnceLock<Instant>,
}

impl Measured {
    pub(crate) fn new(prompt: Option<u64>) -> Self {
        Self { calls: Calls::default(), context: Monitor::new(prompt), opened: Instant::now(), ended: OnceLock::new() }
    }

    pub(crate) fn ended(&self) {
        self.ended.get_or_init(Instant::now);
    }
}

/// What one session has done, by this process: its calls, its turns, how long it took. R-M5
///
/// ```
/// # use tool_core::{Mode, Runtime, ToolCall, ToolContext, tool};
/// # /// Sign somebody in.
/// # #[tool]
/// # fn sign_in(user: &str, password: &str) -> bool {
/// #     user.len() < password.len()
/// # }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let runtime = Runtime::builder(ToolContext::builder().with(sign_in).build()?).build()?;
/// let session = runtime.session("s-1", Mode::Text).await?;
/// session.call(ToolCall::new("call_1", "sign_in", r#"{"user": "ann", "password": "hunter2"}"#)).await;
///
/// let metrics = session.metrics();
/// assert_eq!((metrics.total_calls, metrics.turns), (1, 1));
/// assert!(metrics.calls[0].ok);
/// assert_eq!(metrics.calls[0].arguments, r#"{"user":"ann","password":"[redacted]"}"#);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SessionMetrics {
    /// The last calls, oldest first: those that fit into [`Policy::call_history`](crate::Policy::call_history).
    pub calls: Vec<SessionCall>,
    /// How many calls were answered, those among them that are no longer kept.
    pub total_calls: u64,
    /// How many of them with an error.
    pub total_errors: u64,
    /// The turns that were begun.
    pub turns: u64,
    /// From its opening to its end, or until now.
    #[serde(rename = "durationMs", serialize_with = "in_milliseconds")]
    pub duration: Duration,
    /// How full its model's context window is.
    pub context: ContextMetrics,
}

/// A call of a session that was answered.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SessionCall {
    /// The tool's name; `unknown` for one that nobody knows.
    pub tool: String,
    /// The turn in which it was answered, counted from 0.
    pub turn: u64,
    /// The arguments as JSON, without what the policy's [`Redaction`] hides. Where they are no JSON that is said in a
    /// JSON text; where they were too long to be kept their beginning is, with `...`.
    #[serde(serialize_with = "as_json")]
    pub arguments: String,
    /// From call to answer.
    #[serde(rename = "durationMs", serialize_with = "in_milliseconds")]
    pub duration: Duration,
    /// Whether the tool succeeded.
    pub ok: bool,
    /// The type of the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<&'static str>,
}

fn in_milliseconds<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(milliseconds(*duration))
}

/// As it stands, with the escapes that a value would lose.
fn as_json<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    match serde_json::from_str::<&RawValue>(text) {
        Ok(json) => json.serialize(serializer),
        Err(_) => serializer.serialize_str(text),
    }
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<&RawValue>(text).is_ok()
}

impl SessionMetrics {
    pub(crate) fn of(core: &Core) -> Self {
        let measured = &core.measured;
        let (total_calls, total_errors) = measured.calls.counts();
        let ended = measured.ended.get().copied().unwrap_or_else(Instant::now);
        Self {
            calls: measured.calls.last().iter().map(|call| SessionCall::of(core, call)).collect(),
            total_calls,
            total_errors,
            turns: core.record.turn() + 1,
            duration: ended.saturating_duration_since(measured.opened),
            context: core.context(),
        }
    }
}

impl SessionCall {
    fn of(core: &Core, call: &KeptCall) -> Self {
        let tool = call.tool.and_then(|at| core.toolbox.context.function_tools().get(at));
        let redaction = &core.policy().redaction;
        let arguments = if call.cut {
            Redaction::quoted(&redaction.beginning(&call.arguments))
        } else {
            let shown = redaction.json(&call.arguments);
            if is_json(&shown) { shown } else { Redaction::quoted(&shown) }
        };
        Self {
            tool: tool.map_or(UNKNOWN, |tool| tool.name()).to_owned(),
            turn: call.turn,
            arguments,
            duration: call.duration,
            ok: call.error.is_none(),
            error: call.error.map(ErrorKind::as_str),
        }
    }
}
