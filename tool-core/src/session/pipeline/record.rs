//! The steps after a response: it is counted, its intents are carried out, and hooks see it.

use crate::call::meta::OptionalMeta;
use crate::call::response::shorten_name;
use crate::call::{
    ErrorKind, Intent, Mode, OutputKind, Progress, ToolCall, ToolError, ToolResponse,
};
use crate::json::decoder::Decoder;
use crate::json::error::Error;
use crate::json::number::ParsedNumber;
use crate::schema::timestamp::Timestamp;
use crate::session::account::Payment;
use crate::session::audit::{
    AuditEntry, AuditFacts, AuditedIntent, CallDecision, CallOutcome, kept_id, last_intents,
};
use crate::session::hooks::{HookFuture, HookedCall, HookedRequest, RequestKind};
use crate::session::inner::SessionInner;
use crate::session::metrics::call_log::{AnsweredCall, SessionCall, UNKNOWN};
use crate::session::pipeline::admit::AdmissionGate;
use crate::session::pipeline::governed_call::GovernedCall;
use crate::session::state::StateChange;
use crate::session::store::{AnsweredCallRecord, Settlement, StoreError};
use crate::session::timer;
use crate::text::characters;
use crate::time;
use crate::tool::Category;
use futures_util::FutureExt;
use futures_util::future::{Either, select};
use std::future::ready;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep_until, timeout};

/// The time that a hook may take after the deadline of a call or request, or after its response.
pub(crate) const HOOK_GRACE: Duration = Duration::from_secs(1);

/// Records a call that has reached the gate, if that needs no waiting. Otherwise nothing is recorded, and the result is
/// false.
#[inline]
pub(crate) fn record_now(
    call: &GovernedCall<'_>,
    gate: &AdmissionGate<'_>,
    response: &mut ToolResponse,
) -> bool {
    let session = call.session;
    let Some(turn) = gate.turn() else {
        return false;
    };
    if call.meter.is_some() || !session.runtime.hooks.is_empty() || session.record.is_remote() {
        return false;
    }
    if counts_as_empty(call, response) || (response.is_ok() && !response.intents().is_empty()) {
        return false;
    }
    count(call, Some(turn), false, response);
    true
}

/// Records a call that has reached the gate, once it is answered.
pub(crate) async fn recorded(
    call: &GovernedCall<'_>,
    gate: &AdmissionGate<'_>,
    answer: impl Future<Output = ToolResponse>,
) -> ToolResponse {
    let mut response = answer.await;
    let mut is_audited = false;
    if let Some(turn) = gate.turn() {
        let empty = counts_as_empty(call, &response);
        if let (Some(meter), Some(questions)) = (&call.meter, call.questions()) {
            meter.exclude(questions.waited());
        }
        let payment = call.meter.as_ref().and_then(|meter| meter.take());
        if empty || payment.is_some() || (response.is_ok() && !response.intents().is_empty()) {
            is_audited = Box::pin(settle(call, turn, empty, payment, &mut response)).await;
        }
    } else if response.is_ok() && gate.is_ungoverned() {
        response
            .optional_meta()
            .warnings
            .push("the session store was down, so no limits were applied".to_owned());
    } else if gate.has_lost_session() {
        response.optional_meta().session_is_lost = true;
    }
    finish(call, gate.turn(), is_audited, &mut response).await;
    response
}

/// Counts the response to a call and runs the hooks after it. `turn` is the turn in which the call was charged. A call that is
/// audited has an entry in the audit log already.
pub(crate) async fn finish(
    call: &GovernedCall<'_>,
    turn: Option<u64>,
    is_audited: bool,
    response: &mut ToolResponse,
) {
    if let Some(kept) = count(call, turn, is_audited, response) {
        Box::pin(keep(call.session, &kept)).await;
    }
    if !call.session.runtime.hooks.is_empty() {
        Box::pin(run_after_hooks(call.session, &hooked(call, turn), response)).await;
    }
}

/// An answered call that a store outside of this process has to keep.
struct CallToKeep {
    call: Option<SessionCall>,
    audit: Option<AuditEntry>,
}

/// Keeps a call in a store outside of this process.
async fn keep(session: &SessionInner, call: &CallToKeep) {
    let record = AnsweredCallRecord {
        call: call.call.as_ref(),
        audit: call.audit.as_ref(),
    };
    // The call has run, so a panic of the store must not take its response away.
    let kept = AssertUnwindSafe(async { session.record.keep_call(&record).await })
        .catch_unwind()
        .await;
    if let Err(error) = kept.unwrap_or_else(|_| Err(StoreError::new("it panicked"))) {
        tracing::error!(session = %session.id.as_str().escape_debug(), %error, "failed to keep a call");
    }
}

/// Counts the response, and returns the call if a store outside of this process has to keep it. Not inlined, as an `async`
/// body would keep the intermediate values in its future.
#[inline(never)]
fn count(
    call: &GovernedCall<'_>,
    turn: Option<u64>,
    is_audited: bool,
    response: &mut ToolResponse,
) -> Option<Box<CallToKeep>> {
    let session = call.session;
    if let Some(scope) = call.scope() {
        scope.answered.store(true, Ordering::SeqCst);
        if let Some(questions) = scope.questions.get() {
            questions.ended.cancel();
            // The time of the user is no work of the tool.
            response.meta.duration = response.meta.duration.saturating_sub(questions.waited());
        }
        if let Some(confirmations) = scope.confirmations.get() {
            response.optional_meta().nested_confirmations =
                std::mem::take(&mut *confirmations.lock());
        }
    }
    let slow = warn_if_slow(call, response);
    let turn = turn.unwrap_or_else(|| session.record.turn());
    let answered = AnsweredCall::new(call.tool.name(), turn, response, call.request.arguments());
    let facts = AuditFacts {
        tool: &call.tool.definition().name,
        call_id: call.request.shared_id(),
        began: call.began,
        approved_by: call.request.approval().map(|approval| &approval.by),
    };
    let is_remote = session.record.is_remote();
    let audit = if is_audited || is_remote {
        None
    } else {
        Some(facts)
    };
    let answered = AnsweredCall {
        slow,
        refused: call.is_refusal(response),
        audit,
        ..answered
    };
    session.log().add(&answered);
    if let Some(stats) = session.tools.stats.get(call.index)
        && let Some(p95) = stats.record(&answered, size_for_model(response))
    {
        let tool = call.tool.name().escape_debug();
        tracing::warn!(target: "tool_core::metrics", %tool, p95, "more than 5 % of the results of a tool are large");
    }
    if let Some(progress) = call.reported() {
        keep_updates(call, progress);
    }
    if !is_remote {
        return None;
    }
    let entry = || audit_entry(call, turn, response, Vec::new());
    kept_call(session, &answered, (!is_audited).then(entry))
}

/// Keeps the updates that no listener has heard. The call is answered, so it reports nothing any more.
#[cold]
fn keep_updates(call: &GovernedCall<'_>, progress: &Progress) {
    progress.end();
    let updates = if progress.has_listener() {
        Vec::new()
    } else {
        progress.take()
    };
    if !updates.is_empty() {
        call.session
            .rare()
            .updates
            .push(call.request.id(), call.tool.name(), updates);
    }
}

/// Returns the characters of the data or of the error's text, which take room in the model's context.
#[inline]
fn size_for_model(response: &ToolResponse) -> u32 {
    let size = response.error().map_or_else(
        || response.meta().size_chars(),
        |error| characters(&error.message),
    );
    u32::try_from(size).unwrap_or(u32::MAX)
}

/// Returns a call, redacted, and its entry, for a store outside of this process.
#[cold]
fn kept_call(
    session: &SessionInner,
    call: &AnsweredCall<'_>,
    audit: Option<AuditEntry>,
) -> Option<Box<CallToKeep>> {
    let policy = session.policy();
    let call =
        (policy.call_history > 0).then(|| SessionCall::new(&call.shortened(), &policy.redaction));
    (call.is_some() || audit.is_some()).then(|| Box::new(CallToKeep { call, audit }))
}

/// Returns the entry of a call in the audit log.
fn audit_entry(
    call: &GovernedCall<'_>,
    turn: u64,
    response: &ToolResponse,
    intents: Vec<AuditedIntent>,
) -> AuditEntry {
    let approval = call.request.approval();
    AuditEntry {
        at: Timestamp(jiff::Timestamp::now()),
        turn,
        call_id: kept_id(call.request.id()).to_owned(),
        tool: call.tool.name().to_owned(),
        principal: call.session.principal.to_string(),
        outcome: CallOutcome::of_response(response, call.is_refusal(response)),
        intents: last_intents(intents),
        decision: approval.map(|approval| CallDecision {
            approved: true,
            by: approval.by.to_string(),
        }),
    }
}

/// A call as its response or its model names it.
#[derive(Clone, Copy)]
struct CalledAs<'a> {
    call_id: &'a str,
    tool: &'a str,
}

/// Returns the entry of a call that no tool has served.
fn entry_without_tool(
    session: &SessionInner,
    turn: u64,
    called: CalledAs<'_>,
    response: &ToolResponse,
) -> AuditEntry {
    AuditEntry {
        at: Timestamp(jiff::Timestamp::now()),
        turn,
        call_id: kept_id(called.call_id).to_owned(),
        tool: shorten_name(called.tool),
        principal: session.principal.to_string(),
        outcome: CallOutcome::of_response(response, true),
        intents: Vec::new(),
        decision: None,
    }
}

/// Counts a response that no tool was asked for: of a session that is over, or to an unknown name.
pub(crate) async fn count_without_tool(
    session: &SessionInner,
    call: &ToolCall,
    response: ToolResponse,
) -> ToolResponse {
    if let Some(kept) = count_refusal(session, call, &response) {
        keep(session, &kept).await;
    }
    if let Some(error) = response.error() {
        let error = ToolError::new(error.kind, error.message.clone(), error.retryable);
        let refused = Box::pin(ready(Err::<(), _>(error)));
        _ = around_request(
            session,
            (RequestKind::Call, call.name()),
            || call.arguments().to_owned(),
            refused,
        )
        .await;
    }
    response
}

/// Counts a call that was refused before its tool was asked for, and adds it to the audit log. Returns the call if a store outside of
/// this process has to keep it.
fn count_refusal(
    session: &SessionInner,
    call: &ToolCall,
    response: &ToolResponse,
) -> Option<Box<CallToKeep>> {
    let found = session.tools.find(call.name());
    let name = found.map_or(UNKNOWN, |(_, tool)| tool.name());
    let turn = session.record.turn();
    let answered = AnsweredCall::new(name, turn, response, call.arguments());
    let answered = AnsweredCall {
        refused: true,
        ..answered
    };
    match found
        .map(|(index, _)| index)
        .and_then(|index| session.tools.stats.get(index))
    {
        Some(stats) => stats.record(&answered, 0),
        None => session.runtime.metrics.unknown.record(&answered, 0),
    };
    session.log().add(&answered);
    let called = CalledAs {
        call_id: call.id(),
        tool: call.name(),
    };
    let entry = entry_without_tool(session, turn, called, response);
    if session.record.is_remote() {
        return kept_call(session, &answered, Some(entry));
    }
    session.log().add_entry(&entry);
    None
}

/// Records a call that was refused before its tool was asked for. A store outside of this process keeps it later.
pub(crate) fn record_refusal(
    session: &Arc<SessionInner>,
    call: &ToolCall,
    response: &ToolResponse,
) {
    if let Some(kept) = count_refusal(session, call, response) {
        keep_later(session, kept);
    }
}

/// Adds a call whose caller has gone away while it ran to the audit log.
#[cold]
pub(crate) fn audit_dropped(call: &GovernedCall<'_>) {
    let session = call.session;
    let error = ToolError::new(ErrorKind::Cancelled, String::new(), false);
    let response = call.responses().fail(error);
    let entry = AuditEntry {
        outcome: CallOutcome::Failed(ErrorKind::Cancelled),
        ..audit_entry(call, session.record.turn(), &response, Vec::new())
    };
    if session.record.is_remote() {
        keep_later(
            session,
            Box::new(CallToKeep {
                call: None,
                audit: Some(entry),
            }),
        );
    } else {
        session.log().add_entry(&entry);
    }
}

/// Keeps a call in a store outside of this process, after the caller has gone on.
fn keep_later(session: &Arc<SessionInner>, kept: Box<CallToKeep>) {
    let session = Arc::clone(session);
    if let Ok(handle) = Handle::try_current() {
        drop(handle.spawn(async move { keep(&session, &kept).await }));
    }
}

/// Adds an entry to the audit log.
async fn audit(session: &SessionInner, entry: AuditEntry) {
    if session.record.is_remote() {
        keep(
            session,
            &CallToKeep {
                call: None,
                audit: Some(entry),
            },
        )
        .await;
    } else {
        session.log().add_entry(&entry);
    }
}

/// Counts the refusal of a call that a person has denied, and adds it to the audit log. The call itself was counted when it asked
/// for approval.
pub(crate) async fn count_denial(
    session: &SessionInner,
    index: usize,
    response: &ToolResponse,
    person: Option<&str>,
) {
    let turn = session.record.turn();
    let answered = AnsweredCall::new("", turn, response, "");
    if let Some(stats) = session.tools.stats.get(index) {
        stats.record(
            &AnsweredCall {
                refused: true,
                ..answered
            },
            0,
        );
    }
    let meta = response.meta();
    let called = CalledAs {
        call_id: meta.call_id().unwrap_or_default(),
        tool: meta.tool(),
    };
    let entry = entry_without_tool(session, turn, called, response);
    let decision = person.map(|person| CallDecision {
        approved: false,
        by: person.to_owned(),
    });
    audit(session, AuditEntry { decision, ..entry }).await;
}

/// Adds a warning to the response of a call that took longer than the policy's soft limit, and returns true.
#[inline]
fn warn_if_slow(call: &GovernedCall<'_>, response: &mut ToolResponse) -> bool {
    let (policy, taken) = (call.policy, response.meta().duration());
    let exceeded = |limit: Option<Duration>| limit.filter(|limit| taken > *limit);
    let is_retrieval = call.definition().options.category == Category::Retrieval;
    let (kind, limit) = match (
        exceeded(policy.warn_retrieval_after),
        exceeded(policy.warn_after),
    ) {
        (Some(limit), _) if is_retrieval => ("a retrieval", limit),
        (_, Some(limit)) => ("a call", limit),
        _ => return false,
    };
    add_slow_warning(call, response, kind, limit);
    true
}

#[cold]
fn add_slow_warning(
    call: &GovernedCall<'_>,
    response: &mut ToolResponse,
    kind: &str,
    limit: Duration,
) {
    let (tool, mode, taken) = (
        call.tool.name(),
        call.mode.as_str(),
        response.meta().duration(),
    );
    let warning = format!(
        "`{tool}` took {} ms; in {mode} {kind} should take at most {} ms",
        taken.as_millis(),
        time::milliseconds(limit)
    );
    let session = call.session.id.as_str().escape_debug();
    tracing::warn!(target: "tool_core::metrics", %session, call_id = %call.request.id().escape_debug(), "{warning}");
    response.optional_meta().warnings.push(warning);
}

/// Returns true for an empty result, and for what the tool itself declared empty.
#[inline]
fn counts_as_empty(call: &GovernedCall<'_>, response: &ToolResponse) -> bool {
    let Some(data) = response.data_json() else {
        return false;
    };
    let optional = response.meta.optional.as_deref();
    if let Some(declared) = optional.and_then(|optional| optional.empty) {
        return declared;
    }
    let may_be_empty = call.definition().options.category != Category::Action && is_empty(data);
    may_be_empty
        && is_meant_as_data(response, optional)
        && !call.session.tools.is_control_tool(call.index)
}

/// Returns true if the data is the answer of the tool, although it is empty. The success of a tool that returns `()`, that wants no
/// reply or that asks for intents has no data, and content parts are read in place of it.
#[cold]
fn is_meant_as_data(response: &ToolResponse, optional: Option<&OptionalMeta>) -> bool {
    let has_content = optional.is_some_and(|optional| !optional.content.is_empty());
    let has_only_intents = response.data_json() == Some("null") && !response.intents().is_empty();
    matches!(response.kind(), OutputKind::Data | OutputKind::Content)
        && !has_content
        && !has_only_intents
}

/// Returns true if the JSON of a result is empty: `null`, a blank text, `[]`, `{}`, or an object with a collection among its
/// members, all of them empty, where the other members are `null`, blank, `false` or zero.
///
/// The first member that is not empty decides, so a long result is seldom read to its end.
pub(crate) fn is_empty(data: &str) -> bool {
    let mut json = Decoder::new(data);
    let empty = match json.peek() {
        0 => Ok(true),
        b'{' => is_empty_object(&mut json),
        b'[' | b'"' | b'n' => is_empty_value(&mut json),
        _ => Ok(false),
    };
    empty.unwrap_or(false) && json.end().is_ok()
}

pub(crate) fn is_empty_object(json: &mut Decoder<'_>) -> Result<bool, Error> {
    json.open()?;
    let (mut members, mut collections) = (0, 0);
    while json.next_key(members == 0)?.is_some() {
        members += 1;
        collections += usize::from(matches!(json.peek(), b'[' | b'{'));
        if !is_empty_value(json)? {
            return Ok(false);
        }
    }
    Ok(members == 0 || collections > 0)
}

/// Reads a value up to the point that decides.
fn is_empty_value(json: &mut Decoder<'_>) -> Result<bool, Error> {
    Ok(match json.peek() {
        b'[' => {
            json.open()?;
            !json.next_element(true)?
        }
        b'{' => {
            json.open()?;
            json.next_key(true)?.is_none()
        }
        b'"' => json.string()?.trim().is_empty(),
        b'n' => json.take_null()?,
        b'f' => json.literal("false").is_ok(),
        b'-' | b'0'..=b'9' => match json.number()? {
            ParsedNumber::Unsigned(number) => number == 0,
            ParsedNumber::Float(number) => number == 0.0,
            ParsedNumber::Signed(_) | ParsedNumber::Big(_) | ParsedNumber::Rounded(_) => false,
        },
        _ => false,
    })
}

/// Records the outcome of the call in the store, with its entry in the audit log. Returns false if the store failed.
async fn settle(
    call: &GovernedCall<'_>,
    turn: u64,
    empty: bool,
    payment: Option<Payment>,
    response: &mut ToolResponse,
) -> bool {
    let mut changes = Vec::new();
    let mut intents = Vec::new();
    let carried_out = if response.is_ok() {
        response.intents()
    } else {
        &[]
    };
    for intent in carried_out {
        let (change, effect) = carry_out(intent, call.session.mode());
        changes.extend(change);
        intents.push(AuditedIntent {
            intent: intent.clone(),
            effect,
        });
    }
    let had_intents = !intents.is_empty();
    let audit = [audit_entry(call, turn, response, intents)];
    let settlement = Settlement {
        tool: call.tool.name(),
        category: call.definition().options.category,
        turn,
        empty,
        changes: &changes,
        audit: &audit,
        ..payment
            .as_ref()
            .map(|payment| payment.amount.settlement())
            .unwrap_or_default()
    };
    // The call has run, so a panic of the store must not take its response away.
    let settled = AssertUnwindSafe(async { call.session.record.settle(&settlement).await })
        .catch_unwind()
        .await;
    if let Err(error) = settled.unwrap_or_else(|_| Err(StoreError::new("it panicked"))) {
        tracing::error!(session = %call.session.id.as_str().escape_debug(), %error, "failed to record the outcome of a call");
        if had_intents {
            response
                .optional_meta()
                .warnings
                .push("its intents were not carried out: the session store is down".to_owned());
        }
        return false;
    }
    if let Some(payment) = payment {
        payment.settled();
    }
    true
}

/// Returns the state change of an intent, and its effect in words.
fn carry_out(intent: &Intent, mode: Mode) -> (Option<StateChange>, String) {
    match intent {
        Intent::EndVoiceSession if mode == Mode::Voice => (
            Some(StateChange::Ending(true)),
            "the session ends after this turn".into(),
        ),
        Intent::EndVoiceSession => (None, "none: this is not a voice session".into()),
        Intent::SuppressAudio => (
            Some(StateChange::AudioSuppressed(true)),
            "audio is suppressed".into(),
        ),
        Intent::SuppressTranscript => (
            Some(StateChange::TranscriptSuppressed(true)),
            "the transcript is suppressed".into(),
        ),
        Intent::SetPendingMessage(message) => (
            Some(StateChange::PendingMessage(Some(message.clone()))),
            "a message waits for the next turn".into(),
        ),
        Intent::StartVoiceSession => (None, "the host may begin a voice session".into()),
        Intent::Navigate(to) => (None, format!("the host may show `{}`", to.escape_debug())),
        Intent::Custom { name, payload } => (
            Some(StateChange::Value(name.clone(), payload.clone())),
            format!("the session's `{}` was set", name.escape_debug()),
        ),
    }
}

/// Returns the call as hooks see it.
pub(crate) fn hooked<'a>(call: &GovernedCall<'a>, turn: Option<u64>) -> HookedCall<'a> {
    HookedCall {
        session: call.session.id.as_str(),
        principal: &call.session.principal,
        mode: call.mode,
        turn: turn.unwrap_or_else(|| call.session.record.turn()),
        call_id: call.request.id(),
        tool: call.tool.definition(),
        arguments: call.request.arguments(),
    }
}

/// Runs the hooks after a call. A hook that panics or takes too long leaves the response as it was.
pub(crate) async fn run_after_hooks(
    session: &SessionInner,
    call: &HookedCall<'_>,
    response: &mut ToolResponse,
) {
    for hook in &session.runtime.hooks {
        let run = AssertUnwindSafe(async { hook.after(call, response).await }).catch_unwind();
        let tool = call.tool.name().escape_debug();
        // Without a timer nothing ends a hook that takes too long.
        let ended = if timer::check().is_ok() {
            timeout(HOOK_GRACE, run).await
        } else {
            Ok(run.await)
        };
        match ended {
            Ok(Ok(())) => {}
            Ok(Err(_)) => tracing::error!(%tool, "a hook panicked after the call"),
            Err(_) => tracing::error!(%tool, "a hook after the call took too long"),
        }
    }
}

/// Does the work of a request inside the hooks around it.
pub(crate) async fn around_request<T: Send>(
    session: &SessionInner,
    (kind, name): (RequestKind, &str),
    arguments: impl FnOnce() -> String,
    work: HookFuture<'_, Result<T, ToolError>>,
) -> Result<T, ToolError> {
    let hooks = &session.runtime.hooks;
    if hooks.is_empty() {
        return work.await;
    }
    let (principal, turn, arguments) = (&session.principal, session.record.turn(), arguments());
    let session_id = session.id.as_str();
    let request = HookedRequest {
        session: session_id,
        principal,
        turn,
        kind,
        name,
        arguments: &arguments,
    };
    // The work has a limit of its own, which waits for the user. Hooks have this time before it, and this time after it.
    let limit = session.policy().deadline.saturating_add(HOOK_GRACE);
    let clock = HookClock(Mutex::new(Some(Instant::now())));
    let mut done = None;
    let run = async {
        let work: HookFuture<'_, _> = Box::pin(async {
            clock.set(None);
            let worked = work.await;
            clock.set(Some(Instant::now()));
            done = Some(worked?);
            Ok(())
        });
        hooks
            .iter()
            .rev()
            .fold(work, |next, hook| hook.around_request(&request, next))
            .await
    };
    let outcome = match select(
        pin!(AssertUnwindSafe(run).catch_unwind()),
        pin!(clock.over(limit)),
    )
    .await
    {
        Either::Left((outcome, _)) => {
            outcome.unwrap_or_else(|_| Err(ToolError::internal("a hook panicked around a request")))
        }
        Either::Right(_) => Err(ToolError::new(
            ErrorKind::Timeout,
            "a hook around the request took too long",
            true,
        )),
    };
    outcome.and_then(|()| {
        done.ok_or_else(|| ToolError::internal("a hook left out the work of a request"))
    })
}

/// The time since which hooks run around a request. `None` while the work itself does.
struct HookClock(Mutex<Option<Instant>>);

impl HookClock {
    fn set(&self, since: Option<Instant>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = since;
    }

    /// Waits until hooks have run for longer than a limit.
    async fn over(&self, limit: Duration) {
        loop {
            let since = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let end = time::after(since.unwrap_or_else(Instant::now), limit);
            if since.is_some() && Instant::now() >= end {
                return;
            }
            sleep_until(end).await;
        }
    }
}
