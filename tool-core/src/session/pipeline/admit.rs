//! The gate between valid arguments and the method: duplicates, loop detection and budgets.

use crate::arguments::fingerprint::Fingerprint;
use crate::arguments::problem::Problem;
use crate::call::{ApprovalReason, ApprovalSource, ErrorKind, ToolError, ToolResponse};
use crate::session::caps::{CapAmount, CapScope, UsedCap};
use crate::session::pipeline::governed_call::{GovernedCall, session_over};
use crate::session::pipeline::journal::{JournalClaim, known_answer};
use crate::session::pipeline::passage::{Passage, has_limits};
use crate::session::pipeline::refund::{RefundGuard, refund_of};
use crate::session::policy::Policy;
use crate::session::running::RunningGuard;
use crate::session::store::{Admission, BudgetLimit, Charge, Refusal, StoreError, Verdict};
use crate::session::timer;
use crate::time::CallInstant;
use crate::tool::{Category, Confirm, FunctionTool, OnDuplicate, invocation};
use crate::trace::cost::Cost;
use futures_util::future::OptionFuture;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::time::timeout;
use tracing::Instrument;

/// Decides for the wrapper, once it has decoded the arguments, if the method runs at once.
pub(crate) struct AdmissionGate<'a> {
    pub(crate) call: &'a GovernedCall<'a>,
    /// True if an admitted call still has to wait for a hook, the journal, a thread, a cached result,
    /// or a shared limit, or may be retried.
    defers_admitted: bool,
    /// One more than the turn in which the call was admitted; 0 before.
    turn: AtomicU64,
    /// Created for the few calls that need it.
    state: Mutex<Option<Box<GateState<'a>>>>,
}

#[derive(Default)]
struct GateState<'a> {
    deferral: Option<Deferral>,
    /// The call's entry among the running calls, if its tool minds duplicates.
    running: Option<RunningGuard<'a>>,
    confirm_duplicate: bool,
    /// True if the call runs although the store was down.
    ungoverned: bool,
    /// True if the store does not know the session, which has not ended here.
    session_is_lost: bool,
    /// The claim of a call whose start is in the journal, and whose end is not.
    claim: Option<JournalClaim>,
    /// The call's passage through circuit breakers, and its places among the calls that run.
    passage: Option<Passage<'a>>,
}

/// The reason for which the gate stopped a call.
enum Deferral {
    /// The store has to be awaited, with this charge. The call needs approval if there are reasons.
    AsksStore(Charge, Vec<ApprovalReason>),
    /// The call was refused.
    Refused(ToolError),
    /// The call may not run beside another one.
    Duplicate(ToolError),
    /// The call needs approval, for these reasons.
    NeedsApproval(Vec<ApprovalReason>),
    /// The call was admitted, and has to wait for something else.
    Admitted,
}

/// The verdict on a call that the gate has stopped.
pub(crate) enum Admitted {
    /// The call may run, unless a hook asks for approval. The guard is that of its charge.
    Runs(RefundGuard),
    /// The call needs approval first, for these reasons.
    NeedsApproval(Vec<ApprovalReason>),
}

impl<'a> AdmissionGate<'a> {
    #[inline]
    pub(crate) fn new(call: &'a GovernedCall<'a>) -> Self {
        let runtime = &call.session.runtime;
        let waits = runtime.has_hooks_before()
            || runtime.journal.is_some()
            || call.definition().options.annotations.blocking;
        let may_repeat = call.definition().options.retries.is_some();
        let defers_admitted = waits
            || may_repeat
            || has_limits(call)
            || call.is_cacheable()
            || call.request.approval().is_some();
        Self {
            call,
            defers_admitted,
            turn: AtomicU64::new(0),
            state: Mutex::default(),
        }
    }

    /// Returns the turn in which the call was charged.
    #[inline]
    pub(crate) fn turn(&self) -> Option<u64> {
        self.turn.load(Ordering::Relaxed).checked_sub(1)
    }

    /// Sets the model's answer to whether the call may run beside an equal one.
    pub(crate) fn confirm_duplicate(&self, confirmed: Option<bool>) {
        if confirmed == Some(true) {
            self.state.lock().get_or_insert_default().confirm_duplicate = true;
        }
    }

    /// Returns true if the call runs without limits because the store was down.
    pub(crate) fn is_ungoverned(&self) -> bool {
        self.state
            .lock()
            .as_ref()
            .is_some_and(|state| state.ungoverned)
    }

    /// Returns true if the call was refused because the store does not know the session.
    pub(crate) fn has_lost_session(&self) -> bool {
        self.state
            .lock()
            .as_ref()
            .is_some_and(|state| state.session_is_lost)
    }

    /// Keeps the claim of a call in the journal until its end is recorded.
    pub(crate) fn keep_claim(&self, claim: Option<JournalClaim>) {
        if claim.is_some() {
            self.state.lock().get_or_insert_default().claim = claim;
        }
    }

    /// Keeps the passage of a call until it has run.
    pub(crate) fn keep_passage(&self, passage: Passage<'a>) {
        self.state.lock().get_or_insert_default().passage = Some(passage);
    }

    /// Takes the passage of a call that is about to run.
    pub(crate) fn take_passage(&self) -> Option<Passage<'a>> {
        self.state.lock().as_mut()?.passage.take()
    }

    /// Lists a call that waits for its next attempt, so that it can be cancelled, and so that other
    /// calls of a tool which minds duplicates find it.
    pub(crate) fn list_for_retry(&self, text: &str) -> RunningGuard<'a> {
        let fingerprint = self.call.fingerprint(text).fast();
        let running = self.call.running_call(Some(fingerprint));
        self.call
            .session
            .running
            .enter(running, self.call.interruptions_before)
    }

    /// Keeps the call listed until its tool starts again, if its tool minds duplicates.
    pub(crate) fn keep_running(&self, running: RunningGuard<'a>) {
        if self.call.definition().options.on_duplicate == OnDuplicate::Allow {
            running.finish();
        } else {
            self.state.lock().get_or_insert_default().running = Some(running);
        }
    }

    /// Takes the claim of a call whose end has to be recorded.
    pub(crate) fn take_claim(&self) -> Option<JournalClaim> {
        self.state.lock().as_mut()?.claim.take()
    }

    fn take_deferral(&self) -> Option<Deferral> {
        self.state.lock().as_mut()?.deferral.take()
    }

    pub(crate) fn take_running(&self) -> Option<RunningGuard<'a>> {
        // Only calls of tools that mind duplicates are listed before they run.
        if self.call.definition().options.on_duplicate == OnDuplicate::Allow {
            None
        } else {
            self.state.lock().as_mut()?.running.take()
        }
    }

    #[inline]
    fn admission<'b>(&'b self, arguments: Fingerprint<'b>, charge: Charge) -> Admission<'b> {
        admission(
            self.call.policy,
            self.call.tool,
            arguments,
            charge,
            self.call.repeatable(),
            self.call.began,
        )
    }

    /// Waits for the verdict on a call that the gate has stopped.
    pub(crate) async fn wait(&self, text: &str) -> Result<Admitted, ToolError> {
        let call = self.call;
        let deferral = self.take_deferral();
        // A refusal waits for nothing.
        if !matches!(deferral, Some(Deferral::Refused(_))) {
            timer::check().map_err(ToolError::did_not_run)?;
        }
        match deferral {
            Some(Deferral::Refused(error)) => Err(error),
            // A call that may not run beside another one is an attempt all the same.
            Some(Deferral::Duplicate(error)) => {
                self.ask(&self.admission(call.fingerprint(text), Charge::Attempt))
                    .await?;
                Err(error)
            }
            Some(Deferral::NeedsApproval(reasons)) => Ok(Admitted::NeedsApproval(reasons)),
            Some(Deferral::AsksStore(charge, reasons)) => {
                let refund = self.charge(text, charge).await?;
                if reasons.is_empty() {
                    Ok(Admitted::Runs(refund))
                } else {
                    Ok(Admitted::NeedsApproval(reasons))
                }
            }
            Some(Deferral::Admitted) | None => Ok(Admitted::Runs(self.refund_guard())),
        }
    }

    /// Answers VALIDATION, or `LOOP_DETECTED` once the same text was sent too often. A call that the
    /// journal knows had other rules.
    pub(crate) async fn refuse(&self, problems: &[Problem]) -> ToolResponse {
        let call = self.call;
        if let Some(known) = known_answer(call, call.request.arguments()).await {
            return known;
        }
        let sent = Fingerprint::opaque(call.tool.name(), call.request.arguments());
        match self.ask(&self.admission(sent, Charge::Attempt)).await {
            Ok(()) => call.responses().refuse(problems),
            Err(error) => call.responses().fail(error),
        }
    }

    /// Answers a call whose context parameter could not be provided, so that the method did not
    /// run.
    pub(crate) async fn without_context(&self, error: ToolError) -> ToolResponse {
        let call = self.call;
        self.refund_guard().refund(call.meter.as_deref()).await;
        *call.refuse_unread(error).await
    }

    /// Returns the guard of the call's charge.
    fn refund_guard(&self) -> RefundGuard {
        let call = self.call;
        RefundGuard::new(call.session, call.tool, self.turn(), call.repeatable())
    }

    /// Asks the store and waits for its answer.
    async fn ask(&self, admission: &Admission<'_>) -> Result<(), ToolError> {
        let verdict = self.call.session.record.admit(admission).await;
        self.apply(verdict, admission.charge)
    }

    /// Charges a call that asked for approval, and that a grant covers: its attempt is counted.
    /// Returns the guard of the charge.
    pub(crate) async fn charge_granted(&self, text: &str) -> Result<RefundGuard, ToolError> {
        let call = self.call;
        let admission = self.admission(call.fingerprint(text), Charge::Approved);
        let Some(verdict) = call.session.record.admit_now(&admission) else {
            return self.charge(text, Charge::Approved).await;
        };
        self.apply(Ok(verdict), Charge::Approved)?;
        Ok(self.refund_guard())
    }

    /// Asks the store to charge a call. The question runs in its own task, so that a charge is
    /// refunded even if it comes after the deadline, or after the caller is gone.
    async fn charge(&self, text: &str, charge: Charge) -> Result<RefundGuard, ToolError> {
        let call = self.call;
        let session = Arc::clone(call.session);
        let tool = call.tool.clone();
        let text = text.to_owned();
        let mode = call.mode;
        let began = call.began;
        let repeatable = call.repeatable();
        let asked = tokio::spawn(
            async move {
                let arguments =
                    Fingerprint::of(tool.definition().compiled.equality(), tool.name(), &text);
                let policy = session.policy_of(mode);
                let admission = admission(policy, &tool, arguments, charge, repeatable, began);
                // The amounts of earlier calls have to be charged first, or the caps would not
                // count them.
                let settled =
                    OptionFuture::from(admission.caps.map(|_| session.payers().account.settle()))
                        .await;
                let verdict = match settled.transpose() {
                    Ok(_) => session.record.admit_eventually(&admission).await,
                    Err(error) => Err(error),
                };
                let turn = match verdict {
                    Ok(Verdict::Admitted { turn } | Verdict::Capped { turn, .. })
                        if spends_budget(charge) =>
                    {
                        Some(turn)
                    }
                    _ => None,
                };
                (verdict, RefundGuard::new(&session, &tool, turn, repeatable))
            }
            .in_current_span(),
        );
        let Ok(asked) = timeout(call.policy.store_deadline, asked).await else {
            self.without_store(&StoreError::timeout())?;
            return Ok(RefundGuard::new(call.session, call.tool, None, repeatable));
        };
        let (verdict, refund) = asked.map_err(|error| ToolError::internal(error.to_string()))?;
        self.apply(verdict, charge)?;
        Ok(refund)
    }

    fn apply(&self, verdict: Result<Verdict, StoreError>, charge: Charge) -> Result<(), ToolError> {
        match verdict {
            Ok(Verdict::Admitted { .. } | Verdict::Capped { .. }) if !spends_budget(charge) => {
                Ok(())
            }
            Ok(Verdict::Admitted { .. }) if self.call.meter.is_some() => Err(ToolError::internal(
                "the session store holds no caps; use one that passes `testing::store`",
            )),
            Ok(Verdict::Admitted { turn }) => {
                self.turn.store(turn + 1, Ordering::Relaxed);
                Ok(())
            }
            Ok(Verdict::Capped { turn, left }) => {
                if let Some(meter) = &self.call.meter
                    && let Err(running) = meter.admitted(turn, *left, self.call.request.depth() > 0)
                {
                    // Over another store, the guard of the charge refunds it.
                    self.call.session.record.settle_now(&refund_of(
                        self.call.tool,
                        turn,
                        self.call.repeatable(),
                    ));
                    return Err(running_costs(running));
                }
                self.turn.store(turn + 1, Ordering::Relaxed);
                Ok(())
            }
            Ok(Verdict::Refused(refusal)) => Err(refusal_error(self.call, &refusal)),
            Ok(Verdict::Inactive) => {
                self.state.lock().get_or_insert_default().session_is_lost =
                    self.call.session.is_lost();
                Err(session_over())
            }
            Err(error) => self.without_store(&error),
        }
    }

    /// Refuses a call while the store is down, unless it is a retrieval and the policy allows it.
    pub(crate) fn without_store(&self, error: &StoreError) -> Result<(), ToolError> {
        let call = self.call;
        tracing::error!(session = %call.session.id.as_str().escape_debug(), %error, "failed to admit a call");
        if call.definition().options.category == Category::Retrieval
            && call.policy.reads_without_store
        {
            self.state.lock().get_or_insert_default().ungoverned = true;
            return Ok(());
        }
        let message = "the limits of this session cannot be checked at the moment, so nothing was done; try again later";
        Err(ToolError::transient(message))
    }

    #[inline]
    fn charge_of(&self, reasons: &[ApprovalReason]) -> Charge {
        if self.call.session.tools.is_control_tool(self.call.index) {
            Charge::Free
        } else if self.call.request.approval().is_some() {
            Charge::Approved
        } else if reasons.is_empty() {
            Charge::Run
        } else {
            Charge::Hold
        }
    }

    /// Returns the reasons of the tool and of the policy for which a person has to approve the call.
    /// Hooks have to be awaited, and are asked later.
    #[inline]
    fn approval_reasons(&self, text: &str) -> Vec<ApprovalReason> {
        let options = &self.call.definition().options;
        let is_asked_by_policy = self.call.policy.confirms(options.category);
        if matches!(options.confirm, Confirm::Never) && !is_asked_by_policy {
            return Vec::new();
        }
        self.asked_reasons(text)
    }

    #[cold]
    fn asked_reasons(&self, text: &str) -> Vec<ApprovalReason> {
        let call = self.call;
        let mut reasons = Vec::new();
        if call.asks_no_one() {
            return reasons;
        }
        call.tool.add_approval_reasons(text, &mut reasons);
        let category = call.definition().options.category;
        if call.policy.confirms(category) {
            let text = format!("each call of the category `{}`", category.as_str());
            reasons.push(ApprovalReason::new(ApprovalSource::Policy, &text));
        }
        reasons
    }

    /// Checks that the call was not cancelled while it waited to run.
    pub(crate) fn check_wanted(&self) -> Result<(), ToolError> {
        let state = self.state.lock();
        let running = state.as_ref().and_then(|state| state.running.as_ref());
        let is_cancelled = running.is_some_and(|guard| guard.token.is_cancelled());
        drop(state);
        if is_cancelled {
            Err(self.call.cancelled().did_not_run())
        } else {
            self.call.check_wanted()
        }
    }

    /// Cancels the running calls that this call, which is about to run, replaces.
    #[inline]
    pub(crate) fn cancel_replaced(&self) {
        if self.call.definition().options.on_duplicate == OnDuplicate::Replace
            && let Some(guard) = self
                .state
                .lock()
                .as_ref()
                .and_then(|state| state.running.as_ref())
        {
            guard.cancel_replaced();
        }
    }

    fn defer(&self, deferral: Deferral) -> bool {
        self.state.lock().get_or_insert_default().deferral = Some(deferral);
        false
    }

    /// Lists a call of a tool that minds duplicates among the running calls.
    #[cold]
    fn claim(&self, arguments: &Fingerprint<'_>) -> Result<(), ToolError> {
        let call = self.call;
        let mut state = self.state.lock();
        let state = state.get_or_insert_default();
        // Repaired arguments pass the gate a second time.
        if state.running.is_none() {
            // An approval covers the call as it was requested.
            let confirmed = state.confirm_duplicate || call.request.approval().is_some();
            let running = call.running_call(Some(arguments.fast()));
            state.running = Some(call.session.running.claim(
                running,
                confirmed,
                call.interruptions_before,
            )?);
        }
        Ok(())
    }
}

fn spends_budget(charge: Charge) -> bool {
    matches!(charge, Charge::Run | Charge::Approved)
}

#[inline]
fn admission<'a>(
    policy: &'a Policy,
    tool: &'a FunctionTool,
    arguments: Fingerprint<'a>,
    charge: Charge,
    repeatable: Option<u128>,
    began: CallInstant,
) -> Admission<'a> {
    Admission {
        tool: tool.name(),
        name: Some(&tool.definition().name),
        category: tool.definition().category(),
        arguments,
        charge,
        limits: policy.limits(),
        max_calls: tool.definition().max_calls(),
        caps: policy.caps(),
        repeatable,
        began,
    }
}

impl invocation::CallGate for AdmissionGate<'_> {
    #[inline]
    fn admit(&self, text: &str) -> bool {
        let call = self.call;
        let arguments = call.fingerprint(text);
        if call.definition().options.on_duplicate != OnDuplicate::Allow
            && let Err(error) = self.claim(&arguments)
        {
            return self.defer(Deferral::Duplicate(error));
        }
        let reasons = self.approval_reasons(text);
        let admission = self.admission(arguments, self.charge_of(&reasons));
        let Some(verdict) = call.session.record.admit_now(&admission) else {
            return self.defer(Deferral::AsksStore(admission.charge, reasons));
        };
        match self.apply(Ok(verdict), admission.charge) {
            Err(error) => self.defer(Deferral::Refused(error)),
            Ok(()) if !reasons.is_empty() => self.defer(Deferral::NeedsApproval(reasons)),
            Ok(()) if self.defers_admitted => self.defer(Deferral::Admitted),
            Ok(()) => {
                self.cancel_replaced();
                true
            }
        }
    }
}

/// Describes a refusal of the store to the model.
#[cold]
fn refusal_error(call: &GovernedCall<'_>, refusal: &Refusal) -> ToolError {
    let tool = call.tool.name();
    let (kind, message) = match refusal {
        Refusal::Repeated(count) => (
            ErrorKind::LoopDetected,
            format!(
                "Loop detected: {tool} called {count} times with identical arguments. \
                 Try a different approach or rephrase your query."
            ),
        ),
        Refusal::Empty(count) => (
            ErrorKind::LoopDetected,
            format!(
                "{tool} returned empty results {count} times. \
                 Data may not exist. Try different search terms or a different tool."
            ),
        ),
        Refusal::Budget { limit, used, of } => {
            let calls = match limit {
                BudgetLimit::Tool => format!("calls of `{tool}`"),
                BudgetLimit::Category(category) => format!("{} calls", category.as_str()),
                BudgetLimit::Total => "calls".to_owned(),
            };
            let mode = call.mode.as_str();
            let message = format!(
                "budget exceeded: {used} of {of} {calls} of this {mode} turn are used; the count resets at the next turn. \
                 Answer with what you have."
            );
            (ErrorKind::BudgetExceeded, message)
        }
        Refusal::Cap(used) => (ErrorKind::BudgetExceeded, describe_cap(used)),
    };
    ToolError::new(kind, message, false)
}

/// Returns the error of a call for which the running ones have left nothing.
fn running_costs(running: Cost) -> ToolError {
    let message = format!(
        "budget exceeded: calls that are still running have cost {running}, which is all that was left; it resets when the \
         cap on cost does. Answer with what you have."
    );
    ToolError::new(ErrorKind::BudgetExceeded, message, false)
}

/// Describes a cap that is used up to the model.
fn describe_cap(cap: &UsedCap) -> String {
    let amount = |amount: &CapAmount| match amount {
        CapAmount::Cost(cost) => cost.to_string(),
        CapAmount::Time(time) => format!("{} ms", time.as_millis()),
    };
    let (scope, resets) = match (cap.scope, cap.resets_in) {
        (CapScope::Call, _) => ("this call", "it resets with the next call".to_owned()),
        (CapScope::Turn, _) => (
            "the calls of this turn",
            "it resets at the next turn".to_owned(),
        ),
        (CapScope::Session, _) => (
            "the calls of this session",
            "it resets with a new session".to_owned(),
        ),
        (CapScope::Principal, Some(time)) => (
            "this user's calls",
            format!("it resets in {} s", time.as_secs().saturating_add(1)),
        ),
        (CapScope::Principal, None) => ("this user's calls", "it does not reset".to_owned()),
    };
    let kind = if matches!(cap.of, CapAmount::Cost(_)) {
        "cost"
    } else {
        "time"
    };
    let used = amount(&cap.used);
    let of = amount(&cap.of);
    format!(
        "budget exceeded: the {kind} of {scope} is {used} of {of}; {resets}. Answer with what you have."
    )
}
