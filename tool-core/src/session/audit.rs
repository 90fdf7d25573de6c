//! The audit log of a session: each answered call, its outcome, its intents, and the person who
//! decided on it.

use crate::call::tool_call::CallApproval;
use crate::call::{ApprovalReason, ErrorKind, Intent, ToolResponse};
use crate::schema::timestamp::Timestamp;
use crate::session::approvals::call_digest;
use crate::session::metrics::spare_room::Spare;
use crate::text::{Name, prefix, truncate};
use crate::time::CallInstant;
use crate::trace::Redaction;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// An answered call in the audit log of its session.
///
/// Arguments are left out, as they hold what users say. The kept calls have them, redacted
/// ([`Session::history`](crate::Session::history), [`Runtime::calls`](crate::Runtime::calls)).
///
/// ```
/// use tool_core::session::CallOutcome;
/// use tool_core::{Intent, Mode, Runtime, ToolCall, ToolContext, ToolOutput, tool};
///
/// /// Delete a note, and say no more.
/// #[tool(category = "action", confirm)]
/// fn delete(id: u32) -> ToolOutput {
///     ToolOutput::new(id).intent(Intent::SuppressAudio)
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let runtime = Runtime::builder(ToolContext::builder().with(delete).build()?).build()?;
/// let session = runtime.session("s-1", Mode::Voice).principal("user:7").await?;
/// let asked = session.call(ToolCall::new("call_1", "delete", r#"{"id": 7}"#)).await;
/// let token = &asked.meta().confirmation().ok_or("it waits")?.token;
/// session.approve_by(token, "operator:ada").await;
///
/// let audit = session.audit().await?;
/// let [asked, run] = audit.as_slice() else { return Err("two answers".into()) };
/// assert!(matches!(asked.outcome, CallOutcome::Refused(_)));
/// assert_eq!((run.call_id.as_str(), run.principal.as_str(), run.outcome), ("call_1", "user:7", CallOutcome::Succeeded));
/// assert_eq!(run.decision.as_ref().map(|decision| decision.by.as_str()), Some("operator:ada"));
/// assert_eq!(run.intents[0].intent, Intent::SuppressAudio);
/// println!("{}: {}", run.at, run.intents[0].effect);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AuditEntry {
    /// The time at which the call was answered.
    pub at: Timestamp,
    /// The turn, counted from 0.
    pub turn: u64,
    /// The id that the model gave the call. Longer ones are cut to 128 bytes.
    pub call_id: String,
    /// The name by which the tool was called, which may be an invention of the model.
    pub tool: String,
    /// The principal of the session; empty if the host gave none.
    pub principal: String,
    /// The outcome.
    pub outcome: CallOutcome,
    /// The intents that the session has carried out for the call, in order: at most the last 1,000,
    /// and 64 KiB of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub intents: Vec<AuditedIntent>,
    /// The decision of a person, if the call waited for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<CallDecision>,
    /// The reasons for which the call waits for a person, or has waited for one, redacted by the
    /// policy's [`Redaction`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<ApprovalReason>,
}

/// The outcome of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "is", content = "error")]
#[non_exhaustive]
pub enum CallOutcome {
    /// The call succeeded.
    Succeeded,
    /// The call failed. The tool has run, or it may have.
    Failed(ErrorKind),
    /// The tool did not run.
    Refused(ErrorKind),
}

/// An intent that a session has carried out. Its texts are redacted by the policy's [`Redaction`];
/// longer ones are cut to 2,000 characters, and end in `...`. A payload that is cut is a text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AuditedIntent {
    /// The intent.
    pub intent: Intent,
    /// The effect, in words.
    pub effect: String,
}

/// The decision of a person on a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CallDecision {
    /// True if the call was approved, false if it was denied.
    pub approved: bool,
    /// The person who decided: the one that the host named, otherwise the principal of the session.
    pub by: String,
    /// The arguments before and after, if the person has approved others than those of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<ChangedArguments>,
    /// The grant that approved the call, or that the person gave with the decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<AuditedGrant>,
}

/// The arguments of a call that a person has approved with others. Both texts are JSON, redacted by
/// the policy's [`Redaction`]; longer ones are cut to 2,000 characters, and end in `...`. The digests
/// are of the whole call, as [`PendingCall::digest`](super::PendingCall::digest) has them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ChangedArguments {
    /// The arguments of the model.
    pub asked: String,
    /// The digest of the call as the model made it.
    pub asked_digest: String,
    /// The arguments with which the call has run.
    pub run: String,
    /// The digest of the call as it has run.
    pub run_digest: String,
}

/// The most characters that an entry keeps of the arguments of a decision, and of each text of an
/// intent.
const MAX_TEXT: usize = 2_000;

/// Returns reasons as the audit log has them. They may repeat arguments.
pub(crate) fn redacted_reasons(
    reasons: &[ApprovalReason],
    redaction: &Redaction,
) -> Vec<ApprovalReason> {
    let redacted = reasons
        .iter()
        .map(|reason| ApprovalReason::new(reason.source, &redaction.text(&reason.text)));
    redacted.collect()
}

impl ChangedArguments {
    /// Describes a change of the arguments of a call of a tool.
    pub(crate) fn new(tool: &str, asked: &str, run: &str, redaction: &Redaction) -> Self {
        Self {
            asked: redaction.json_up_to(asked, MAX_TEXT),
            asked_digest: call_digest(tool, asked),
            run: redaction.json_up_to(run, MAX_TEXT),
            run_digest: call_digest(tool, run),
        }
    }
}

impl CallDecision {
    /// Creates a decision without a change of the arguments and without a grant. For stores and their tests.
    pub fn new(approved: bool, by: impl Into<String>) -> Self {
        Self {
            approved,
            by: by.into(),
            change: None,
            grant: None,
        }
    }
}

/// A grant in the audit log. See [`CallGrant`](crate::session::CallGrant).
///
/// ```
/// use std::time::Duration;
/// use tool_core::session::Decision;
/// # use tool_core::{Mode, Runtime, ToolCall, ToolContext, tool};
/// # /// Delete a note.
/// # #[tool(confirm)]
/// # fn delete(id: u32) -> u32 {
/// #     id
/// # }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let runtime = Runtime::builder(ToolContext::builder().with(delete).build()?).build()?;
/// # let session = runtime.session("s-1", Mode::Text).await?;
/// # let asked = session.call(ToolCall::new("call_1", "delete", r#"{"id": 7}"#)).await;
/// # let token = &asked.meta().confirmation().ok_or("it waits")?.token;
/// let decision = Decision::approve(token).by("operator:ada").always_for_tool(Duration::from_secs(600));
/// session.decide(&decision, None).await;
/// session.call(ToolCall::new("call_2", "delete", r#"{"id": 8}"#)).await;
///
/// let audit = session.audit().await?;
/// let decisions = audit.iter().filter_map(|entry| entry.decision.as_ref());
/// let grants = decisions.filter_map(|decision| decision.grant.as_ref()).collect::<Vec<_>>();
/// assert!(grants[0].is_new && !grants[1].is_new);
/// assert_eq!(grants[0].id, grants[1].id);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AuditedGrant {
    /// The grant's id.
    pub id: String,
    /// The time at which it was given.
    pub given_at: Timestamp,
    /// True if it was given with this decision. False if it approved the call, which asked no one.
    pub is_new: bool,
}

impl AuditEntry {
    /// Creates the entry of a call that succeeded now in turn 0. For stores and their tests: a
    /// session writes its own entries.
    pub fn new(call_id: impl Into<String>, tool: impl Into<String>) -> Self {
        Self {
            at: Timestamp(jiff::Timestamp::now()),
            turn: 0,
            call_id: call_id.into(),
            tool: tool.into(),
            principal: String::new(),
            outcome: CallOutcome::Succeeded,
            intents: Vec::new(),
            decision: None,
            reasons: Vec::new(),
        }
    }
}

impl AuditedIntent {
    /// Describes an intent that was carried out.
    pub fn new(intent: Intent, effect: impl Into<String>) -> Self {
        Self {
            intent,
            effect: effect.into(),
        }
    }

    /// Describes an intent that was carried out as an entry keeps it: redacted, and cut where it is
    /// long.
    pub(crate) fn kept(intent: &Intent, effect: &str, redaction: &Redaction) -> Self {
        let text = |text: &str| truncate(&redaction.text(text), MAX_TEXT);
        let intent = match intent {
            Intent::SetPendingMessage(message) => Intent::SetPendingMessage(text(message)),
            Intent::Navigate(to) => Intent::Navigate(text(to)),
            Intent::Custom { name, payload } => {
                let payload = redaction.json_up_to(&payload.to_string(), MAX_TEXT);
                let payload = serde_json::from_str(&payload).unwrap_or(Value::String(payload));
                let name = name.clone();
                Intent::Custom { name, payload }
            }
            other => other.clone(),
        };
        Self::new(intent, text(effect))
    }

    /// Returns the number of bytes of its texts.
    fn bytes(&self) -> usize {
        let own = match &self.intent {
            Intent::SetPendingMessage(text) | Intent::Navigate(text) => text.len(),
            Intent::Custom { name, payload } => name.len() + payload.to_string().len(),
            _ => 0,
        };
        own + self.effect.len()
    }
}

impl CallOutcome {
    /// Returns the outcome that a response tells. A `refused` call did not run.
    #[inline]
    pub(crate) fn of(error: Option<ErrorKind>, refused: bool) -> Self {
        match error {
            None => Self::Succeeded,
            Some(kind) if refused => Self::Refused(kind),
            Some(kind) => Self::Failed(kind),
        }
    }

    pub(crate) fn of_response(response: &ToolResponse, refused: bool) -> Self {
        Self::of(response.error().map(|error| error.kind), refused)
    }
}

/// The intents of a call that are kept.
const MAX_INTENTS: usize = 1_000;

/// The bytes of a call's intents that are kept.
const MAX_INTENT_BYTES: usize = 64 * 1024;

/// Leaves the last intents of a call that has very many or large ones.
pub(crate) fn last_intents(mut intents: Vec<AuditedIntent>) -> Vec<AuditedIntent> {
    let mut kept = 0;
    let mut bytes = 0;
    for intent in intents.iter().rev().take(MAX_INTENTS) {
        bytes += intent.bytes();
        if bytes > MAX_INTENT_BYTES {
            break;
        }
        kept += 1;
    }
    intents.drain(..intents.len() - kept);
    intents
}

/// The bytes of a call's id that are kept.
const MAX_ID: usize = 128;

/// Returns the part of a call's id that an entry keeps.
pub(crate) fn kept_id(id: &str) -> &str {
    prefix(id, MAX_ID)
}

/// The facts about a call that the log of a session in memory needs. None of them is copied.
#[derive(Clone, Copy)]
pub(crate) struct AuditFacts<'a> {
    pub(crate) tool: &'a Name,
    pub(crate) call_id: &'a Arc<str>,
    pub(crate) began: CallInstant,
    /// The approval of the call, if a person has given one.
    pub(crate) approval: Option<&'a ApprovedCall<'a>>,
    /// The reasons for which the call waits or has waited for a person.
    pub(crate) reasons: &'a [ApprovalReason],
    pub(crate) redaction: &'a Redaction,
}

/// A call that a person has approved, or had approved in advance.
#[derive(Clone, Copy)]
pub(crate) struct ApprovedCall<'a> {
    /// The person.
    pub(crate) by: &'a str,
    /// `None` if a grant covers the call.
    pub(crate) approval: Option<&'a CallApproval>,
    /// The grant that covers the call, or that the person gave with the approval.
    pub(crate) grant: Option<&'a AuditedGrant>,
    pub(crate) tool: &'a str,
    /// The arguments with which it runs.
    pub(crate) arguments: &'a str,
}

impl ApprovedCall<'_> {
    /// Returns the decision as the audit log has it.
    pub(crate) fn decision(&self, redaction: &Redaction) -> CallDecision {
        let asked = self.approval.and_then(|approval| approval.asked.as_deref());
        let change =
            asked.map(|asked| ChangedArguments::new(self.tool, asked, self.arguments, redaction));
        CallDecision {
            change,
            grant: self.grant.cloned(),
            ..CallDecision::new(true, self.by)
        }
    }
}

/// The last calls of a session in memory. Most of them have neither intents nor a decision, and
/// take a few words each. What a log takes beyond [`OWN_CALLS`] comes from the room that all
/// sessions share.
#[derive(Default)]
pub(crate) struct AuditLog {
    calls: VecDeque<AuditedCall>,
    clock: WallClock,
}

struct AuditedCall {
    tool: Name,
    call_id: Arc<str>,
    /// The microseconds since 1970.
    at: i64,
    turn: u64,
    outcome: CallOutcome,
    details: Option<Box<AuditDetails>>,
}

#[derive(Default)]
struct AuditDetails {
    /// The principal of an entry that was made elsewhere.
    principal: Option<String>,
    intents: Vec<AuditedIntent>,
    decision: Option<CallDecision>,
    reasons: Vec<ApprovalReason>,
}

/// The most calls that are kept.
const MAX_CALLS: usize = 1_000;
/// The calls that each log may keep, however many sessions there are.
const OWN_CALLS: usize = 8;

impl AuditLog {
    /// Adds a call that was answered after a time, in place of the oldest one if there is no room
    /// for more.
    #[inline]
    pub(crate) fn add(
        &mut self,
        call: &AuditFacts<'_>,
        turn: u64,
        micros: u64,
        outcome: CallOutcome,
        spare: &Spare,
    ) {
        let began = self.clock.micros_at(call.began);
        let at = began.saturating_add_unsigned(micros);
        let is_plain = call.approval.is_none() && call.reasons.is_empty();
        let details = (!is_plain).then(|| approval_details(call));
        let call = AuditedCall {
            tool: call.tool.clone(),
            call_id: shared_id(call.call_id),
            at,
            turn,
            outcome,
            details,
        };
        self.push(call, spare);
    }

    /// Adds an entry.
    #[cold]
    pub(crate) fn add_entry(&mut self, entry: &AuditEntry, spare: &Spare) {
        let details = AuditDetails {
            principal: Some(entry.principal.clone()),
            intents: entry.intents.clone(),
            decision: entry.decision.clone(),
            reasons: entry.reasons.clone(),
        };
        let call = AuditedCall {
            tool: entry.tool.as_str().into(),
            call_id: kept_id(&entry.call_id).into(),
            at: entry.at.0.as_microsecond(),
            turn: entry.turn,
            outcome: entry.outcome,
            details: Some(Box::new(details)),
        };
        self.push(call, spare);
    }

    #[inline]
    fn push(&mut self, call: AuditedCall, spare: &Spare) {
        if self.calls.len() == self.calls.capacity() {
            self.make_room(spare);
        }
        self.calls.push_back(call);
    }

    /// Makes room for one more call: by growing, or by dropping the oldest one.
    fn make_room(&mut self, spare: &Spare) {
        let has = self.calls.capacity();
        let wanted = (2 * has).clamp(OWN_CALLS / 2, MAX_CALLS);
        let beyond_own = wanted.saturating_sub(has.max(OWN_CALLS));

        if wanted > has && spare.take(beyond_own) {
            self.calls.reserve_exact(wanted - self.calls.len());
        } else {
            self.calls.pop_front();
        }
    }

    /// Returns the entries for which the log has room beyond its own.
    pub(crate) fn taken(&self) -> usize {
        self.calls.capacity().saturating_sub(OWN_CALLS)
    }

    /// Returns the entries, oldest first, of a session of this principal.
    pub(crate) fn entries(&self, principal: &str) -> Vec<AuditEntry> {
        let entry = |call: &AuditedCall| {
            let details = call.details.as_ref();
            AuditEntry {
                at: Timestamp(jiff::Timestamp::from_microsecond(call.at).unwrap_or_default()),
                turn: call.turn,
                call_id: call.call_id.to_string(),
                tool: call.tool.to_string(),
                principal: details
                    .and_then(|details| details.principal.clone())
                    .unwrap_or_else(|| principal.to_owned()),
                outcome: call.outcome,
                intents: details.map_or_else(Vec::new, |details| details.intents.clone()),
                decision: details.and_then(|details| details.decision.clone()),
                reasons: details.map_or_else(Vec::new, |details| details.reasons.clone()),
            }
        };
        self.calls.iter().map(entry).collect()
    }
}

#[cold]
fn approval_details(call: &AuditFacts<'_>) -> Box<AuditDetails> {
    let approved = call.approval;
    Box::new(AuditDetails {
        decision: approved.map(|approved| approved.decision(call.redaction)),
        reasons: redacted_reasons(call.reasons, call.redaction),
        ..AuditDetails::default()
    })
}

/// Returns the id of a call as it is kept: a longer one is cut, so that it takes no more room.
#[inline]
fn shared_id(id: &Arc<str>) -> Arc<str> {
    if id.len() <= MAX_ID {
        Arc::clone(id)
    } else {
        kept_id(id).into()
    }
}

/// Tells the time of day of calls, whose own clock is cheaper and drifts. The system's clock is
/// read once a minute.
#[derive(Default)]
struct WallClock(Option<Reading>);

#[derive(Clone, Copy)]
struct Reading {
    instant: CallInstant,
    /// The microseconds since 1970.
    micros: i64,
}

/// The time after which the system's clock is read again.
const STALE: Duration = Duration::from_secs(60);

impl WallClock {
    /// Returns the microseconds since 1970 at an instant.
    #[inline]
    fn micros_at(&mut self, instant: CallInstant) -> i64 {
        let Some(reading) = self.0 else {
            return self.read_at(instant);
        };
        let since = instant.since(reading.instant);
        if since >= STALE {
            return self.read_at(instant);
        }
        // A call that waited longer may have begun before the reading. One of the two times is
        // zero.
        let before = reading.instant.since(instant);
        reading.micros + micros(since) - micros(before)
    }

    #[cold]
    fn read_at(&mut self, instant: CallInstant) -> i64 {
        let micros = jiff::Timestamp::now()
            .as_microsecond()
            .saturating_sub(micros(instant.elapsed()));
        self.0 = Some(Reading { instant, micros });
        micros
    }
}

#[inline]
fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(number: usize) -> AuditEntry {
        AuditEntry {
            at: Timestamp(jiff::Timestamp::UNIX_EPOCH),
            turn: 0,
            call_id: number.to_string(),
            tool: "lamp".to_owned(),
            principal: String::new(),
            outcome: CallOutcome::Succeeded,
            intents: Vec::new(),
            decision: None,
            reasons: Vec::new(),
        }
    }

    fn filled(calls: usize, spare: &Spare) -> AuditLog {
        let mut log = AuditLog::default();
        (0..calls).for_each(|number| log.add_entry(&entry(number), spare));
        log
    }

    fn kept(log: &AuditLog) -> Vec<usize> {
        let entries = log.entries("");
        entries
            .iter()
            .map(|entry| entry.call_id.parse().expect("a number"))
            .collect()
    }

    #[test]
    fn one_log_keeps_its_last_thousand_calls() {
        let log = filled(1_234, &Spare::new(10_000));
        assert_eq!(kept(&log), (234..1_234).collect::<Vec<_>>());
    }

    #[test]
    fn many_logs_keep_their_last_calls_in_shared_room() {
        let spare = Spare::new(1_000);
        let logs = (0..500).map(|_| filled(100, &spare)).collect::<Vec<_>>();

        let room = logs.iter().map(|log| log.calls.capacity()).sum::<usize>();
        assert!(room <= 1_000 + 500 * OWN_CALLS, "{room}");

        for log in &logs {
            let kept = kept(log);
            assert!(kept.len() >= OWN_CALLS, "{kept:?}");
            assert_eq!(kept, (100 - kept.len()..100).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_log_takes_what_it_says() {
        let spare = Spare::new(1_000);
        let log = filled(100, &spare);
        assert_eq!(spare.left() + log.taken(), 1_000);
    }
}
