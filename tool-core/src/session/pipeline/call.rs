//! The steps of a governed call, in their order: [`run`](GovernedCall::run) for a call that runs at once, and
//! [`run_deferred`](GovernedCall::run_deferred) for one that has to wait. Both go from the admission to the response, and
//! each step is a file of this folder.

use crate::arguments::Problem;
use crate::arguments::prepare::{PreparedArguments, RefusedArguments, check_length};
use crate::call::context::{CallContext, CallDeadline, RunContext};
use crate::call::error::MASKED;
use crate::call::{ApprovalReason, ErrorKind, ToolCall, ToolError, ToolResponse};
use crate::session::calls_in_progress::CallInProgress;
use crate::session::caps::SpendingCaps;
use crate::session::grants::CallGrant;
use crate::session::hooks::HookedCall;
use crate::session::inner::SessionInner;
use crate::session::pipeline::admit::{AdmissionGate, Admitted};
use crate::session::pipeline::confirm::{self, redeem};
use crate::session::pipeline::governed_call::{GovernedCall, progress_of, time_limit};
use crate::session::pipeline::governed_tool::GovernedTool;
use crate::session::pipeline::journal::{JournalClaim, known_answer, record_start};
use crate::session::pipeline::meter::CallMeter;
use crate::session::pipeline::refund::RefundGuard;
use crate::session::pipeline::{granted, hooks, passage, record, retries, without_tool};
use crate::time::CallInstant;
use crate::tool::FunctionTool;
use crate::tool::bare_call::repair_arguments;
use crate::tool::driver::drive;
use crate::tool::invocation::Rejection;
use crate::trace::span;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use std::borrow::Cow;
use std::future::ready;
use std::panic::AssertUnwindSafe;
use std::slice;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use tokio::time::timeout_at;
use tokio_util::sync::CancellationToken;

/// Finds the tool, and makes the call under the limits of its session.
pub(crate) async fn govern(session: &Arc<SessionInner>, call: ToolCall) -> ToolResponse {
    let began = CallInstant::now();
    let Some(mut place) = session.calls.enter() else {
        return Box::pin(without_tool::inactive(session, &call, began)).await;
    };
    if session.runtime.drain.is_on() && session.refuses_calls(call.depth()) {
        return Box::pin(without_tool::draining(session, &call, began)).await;
    }
    let interruptions_before = session.running.interruptions();
    let Some((index, tool)) = session.find_tool(call.name()) else {
        return Box::pin(without_tool::unknown(session, &call, began)).await;
    };
    if let Some(search) = session.tools.search.as_deref()
        && call.depth() == 0
    {
        session.keep_called(search, index);
    }

    // A tool that never looks at its context runs on the session's.
    let (scope, own_ctx, owned_call);
    let (ctx, call) = if tool.definition().compiled.uses_context {
        scope = Arc::new(call_scope(session, tool, call, began));
        own_ctx = session.base.for_tool_in(&scope, &tool.definition().name);
        let Some(call) = &scope.call else {
            return Box::pin(without_tool::inactive(
                session,
                &ToolCall::new("", "", ""),
                began,
            ))
            .await;
        };
        (&own_ctx, call)
    } else {
        owned_call = call;
        (&session.base, &owned_call)
    };

    let mode = session.mode();
    let policy = session.policy_of(mode);
    let meter = policy.caps().map(|caps| metered(session, tool, caps, ctx));
    let governed = GovernedCall {
        session,
        mode,
        policy,
        tool,
        index,
        ctx,
        request: call,
        began,
        interruptions_before,
        meter,
        progress: OnceLock::new(),
        has_run: AtomicBool::new(false),
        grant: OnceLock::new(),
        repeatable: OnceLock::new(),
    };
    governed.run(&mut place).await
}

impl GovernedCall<'_> {
    /// Takes the call from its arrival to its response. What few calls need is boxed, so that it
    /// does not enlarge the future of every call, and the response exists after the last wait of
    /// most calls, so that it is not kept in a future.
    async fn run(&self, place: &mut CallInProgress<'_>) -> ToolResponse {
        // Check the mode, the depth, the cost of the callers, and the turn among the session's
        // other calls.
        let may_run = match self.may_run(place) {
            Ok(false) => Box::pin(self.wait_to_run(place)).await,
            at_once => at_once.map(drop),
        };
        if let Err(error) = may_run {
            return Box::pin(record::unrun(self, error)).await;
        }

        // Admit and start: the tool decodes its arguments and asks the gate. If the gate admits the
        // call, the method runs.
        let gate = AdmissionGate::new(self);
        let arguments = self.request.arguments();
        let settings = self.settings();
        if let Err(problem) = check_length(arguments, settings.argument_bytes) {
            let refused = gate.refuse(slice::from_ref(&problem));
            return Box::pin(record::recorded(self, &gate, refused)).await;
        }
        let frame = self
            .responses()
            .frame(arguments, settings, false, Some(&gate), self);
        let tool = GovernedTool::at_gate(&gate);
        let mut response = match drive(&tool, &frame, self.began).await {
            Ok(response) => response,
            Err(rejection) => {
                let answered = Box::pin(self.run_rejected(&gate, rejection));
                self.catch_panics(answered).await
            }
        };
        self.responses().report_nulls(&mut response, &frame);

        // Record and answer.
        if record::record_now(self, &gate, &mut response) {
            return response;
        }
        Box::pin(record::recorded(self, &gate, ready(response))).await
    }

    /// Makes a call whose method did not run at the first start: its arguments need a repair, or it
    /// has to wait.
    async fn run_rejected(&self, gate: &AdmissionGate<'_>, rejection: Rejection) -> ToolResponse {
        match rejection {
            Rejection::NotAdmitted => self.run_deferred(gate, self.request.arguments()).await,
            Rejection::Context(error) => gate.without_context(error).await,
            Rejection::Arguments(_) | Rejection::Refused(_) => {
                self.run_repaired(gate, rejection.refused()).await
            }
        }
    }

    /// Repairs arguments that did not decode, and makes the call with them, or refuses it with
    /// every problem.
    async fn run_repaired(
        &self,
        gate: &AdmissionGate<'_>,
        refused: Option<Box<RefusedArguments>>,
    ) -> ToolResponse {
        let settings = self.settings();
        let PreparedArguments {
            text,
            coerced,
            confirm_duplicate,
        } = match repair_arguments(self.tool, self.request.arguments(), refused, settings) {
            Ok(prepared) => prepared,
            Err(problems) => return gate.refuse(&problems).await,
        };
        gate.confirm_duplicate(confirm_duplicate);

        let frame = self
            .responses()
            .frame(&text, settings, true, Some(gate), self);
        let tool = GovernedTool::at_gate(gate);
        let mut response = match drive(&tool, &frame, CallInstant::now()).await {
            Ok(response) => response,
            Err(Rejection::NotAdmitted) => self.run_deferred(gate, &text).await,
            Err(Rejection::Context(error)) => gate.without_context(error).await,
            Err(Rejection::Arguments(error)) => {
                let problem = Problem::refused(error.path(), error.message());
                gate.refuse(&[problem]).await
            }
            Err(rejection @ Rejection::Refused(_)) => self.responses().reject(rejection),
        };
        if !coerced.is_empty() {
            response.optional_meta().coerced = coerced.into();
        }
        response
    }

    /// Makes a call that the gate has stopped, because something has to be awaited before the
    /// method runs. Its arguments were decoded from `text`, so they are known to be valid.
    async fn run_deferred(&self, gate: &AdmissionGate<'_>, text: &str) -> ToolResponse {
        let _open = self.session.record.keep_open();

        // Admit, if the store can only be awaited.
        let admitted = match gate.wait(text).await {
            Ok(admitted) => admitted,
            Err(error) => return *self.refuse(text, error).await,
        };
        // An open circuit breaker refuses the call before a person is asked about it.
        if let Err(error) = passage::check(self) {
            if let Admitted::Runs(refund) = admitted {
                refund.refund(self.meter.as_deref()).await;
            }
            return *self.refuse(text, error).await;
        }
        let arguments = if self.session.runtime.has_hooks_before() {
            Cow::Owned(self.definition().approved_text(text))
        } else {
            Cow::Borrowed(text)
        };
        let hooked = HookedCall {
            arguments: &arguments,
            ..hooks::hooked(self, gate.turn())
        };

        // Confirm: without an approval or a grant the call ends here, and comes again with the
        // approval.
        let permission = match self.confirm(gate, admitted, &hooked, text).await {
            Ok(permission) => permission,
            Err(response) => return *response,
        };
        let refund = permission.refund;
        let claim = self
            .prepare(gate, &hooked, text, &refund, permission.grant)
            .await;
        match claim {
            Ok(claim) => gate.keep_claim(claim),
            Err(response) => {
                refund.refund(self.meter.as_deref()).await;
                return *response;
            }
        }

        // Start, inside the hooks around the call.
        let passage = gate.take_passage();
        let tool = || -> BoxFuture<'_, ToolResponse> {
            Box::pin(retries::run(gate, text, &refund, passage.as_ref()))
        };
        let response = passage::held(passage.as_ref(), hooks::around(self, &hooked, &tool)).await;
        if let Some(passage) = passage {
            passage.end(self, &response).await;
        }

        // Without a free thread, or if a hook answered in its place, the call has not run.
        refund.refund(self.meter.as_deref()).await;
        self.cache_result(text, &response);
        response
    }

    /// Asks the hooks whether a person has to approve the call, and looks for a grant that covers it.
    /// Returns the permission to run, or the answer to a call that waits for a person.
    async fn confirm(
        &self,
        gate: &AdmissionGate<'_>,
        admitted: Admitted,
        hooked: &HookedCall<'_>,
        text: &str,
    ) -> Result<Permission, Box<ToolResponse>> {
        let asked = hooks::approval_reasons(self, hooked).await;
        let asks_nothing = asked.as_ref().is_ok_and(Vec::is_empty);
        let mut reasons = match admitted {
            Admitted::NeedsApproval(reasons) => reasons,
            Admitted::Runs(refund) if asks_nothing => {
                return Ok(Permission {
                    refund,
                    grant: None,
                });
            }
            Admitted::Runs(refund) => {
                // First, so that a call which is approved at once finds its budget.
                refund.refund(self.meter.as_deref()).await;
                Vec::new()
            }
        };
        let of_hooks = match asked {
            Ok(reasons) => reasons,
            Err(error) => return Err(self.refuse(text, error).await),
        };
        let by_hook = !of_hooks.is_empty();
        reasons.extend(of_hooks);

        let Some(grant) = granted::find(self, text, by_hook).await else {
            return Err(self.ask_person(text, reasons).await);
        };
        match gate.charge_granted(text).await {
            Ok(refund) => Ok(Permission {
                refund,
                grant: Some(GrantedCall { grant, reasons }),
            }),
            Err(error) => Err(self.refuse(text, error).await),
        }
    }

    /// Waits for the hooks before the call, passes its circuit breakers and shared limits, redeems its
    /// approval or checks its grant, and records its start in the journal. Returns the call's claim in
    /// the journal, or the response of a call that does not run, which may be a cached result.
    async fn prepare(
        &self,
        gate: &AdmissionGate<'_>,
        hooked: &HookedCall<'_>,
        text: &str,
        refund: &RefundGuard,
        grant: Option<GrantedCall>,
    ) -> Result<Option<JournalClaim>, Box<ToolResponse>> {
        let late = |doing| self.timed_out(doing).did_not_run();

        let before = timeout_at(self.deadline(), hooks::before(self, hooked)).await;
        if let Err(error) = before.unwrap_or_else(|_| Err(late("waiting for a hook"))) {
            return Err(self.refuse(text, error).await);
        }

        // Before the approval is used up, as the call may come again. An answer from the cache passes
        // no circuit breaker and takes no place.
        let cached = self.cached_result(text).map(Box::new);
        if cached.is_none() {
            let entered = passage::enter(gate.call, |error| gate.without_store(error)).await;
            match entered {
                Ok(Some(passage)) => gate.keep_passage(passage),
                Ok(None) => {}
                Err(error) => return Err(self.refuse(text, error).await),
            }
        }

        // As late as possible, so that an approval is not used up by a call that does not run.
        if let Err(error) = redeem(self).await {
            return Err(self.refuse(text, error).await);
        }
        if let Some(granted) = grant
            && !granted::holds(self, granted.grant).await
        {
            return Err(self.ask_person(text, granted.reasons).await);
        }

        if let Some(response) = cached {
            refund.keep_charge();
            return Err(response);
        }
        let start = record_start(self, text, hooked.turn);
        let started = timeout_at(self.deadline(), start).await;
        started.unwrap_or_else(|_| {
            let error = late("waiting for the journal");
            Err(Box::new(self.responses().fail(error)))
        })
    }

    /// Answers a call that does not run, because of an error: with what the journal knows of the
    /// call, if it has run already. Every step before the start ends a call in this way, as what
    /// refuses a call now may not have refused it before its process died.
    pub(crate) async fn refuse(&self, text: &str, error: ToolError) -> Box<ToolResponse> {
        let known = known_answer(self, text).await;
        Box::new(known.unwrap_or_else(|| self.responses().fail(error)))
    }

    /// Answers a call for which a person is asked: with what the journal knows of it, if it has run
    /// already, and else with the request for an approval.
    async fn ask_person(&self, text: &str, reasons: Vec<ApprovalReason>) -> Box<ToolResponse> {
        let answer = match known_answer(self, text).await {
            Some(known) => known,
            None => Box::pin(confirm::request_approval(self, text, reasons)).await,
        };
        Box::new(answer)
    }

    /// Refuses a call whose arguments were not read yet.
    pub(crate) async fn refuse_unread(&self, error: ToolError) -> Box<ToolResponse> {
        let sent = self.request.arguments();
        if self.session.runtime.journal.is_none() {
            return self.refuse(sent, error).await;
        }
        // The journal has them as the call has run with them.
        let prepared = repair_arguments(self.tool, sent, None, self.settings());
        let text = prepared.map_or(sent.into(), |prepared| Cow::from(prepared.text));
        self.refuse(&text, error).await
    }

    /// Answers the call even if a store or a journal of the host panics.
    async fn catch_panics(&self, work: BoxFuture<'_, ToolResponse>) -> ToolResponse {
        AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|_| {
            tracing::error!(tool = %self.tool.name().escape_debug(), "a store, journal or hook panicked");
            self.responses().fail(ToolError::new(ErrorKind::Internal, MASKED, false).unexpected())
        })
    }
}

/// Creates the call's own part of the context of its tool.
fn call_scope(
    session: &SessionInner,
    tool: &FunctionTool,
    call: ToolCall,
    began: CallInstant,
) -> CallContext {
    let progress = progress_of(session, &call, began);
    // What the tool has spawned ends with the call, and the host's token may be that of other
    // calls, too.
    let cancellation = call.cancellation().map(CancellationToken::child_token);
    let limit = time_limit(session.policy(), tool);
    CallContext {
        turn: session.record.turn(),
        deadline: Some(CallDeadline::After(began, limit)),
        progress: progress.map(OnceLock::from).unwrap_or_default(),
        cancellation: cancellation.map(OnceLock::from).unwrap_or_default(),
        call: Some(call),
        ..CallContext::default()
    }
}

/// Creates the meter of a call, and hands it to the call's span if costs are capped.
#[cold]
fn metered(
    session: &Arc<SessionInner>,
    tool: &FunctionTool,
    caps: &SpendingCaps,
    ctx: &RunContext,
) -> Arc<CallMeter> {
    let meter = CallMeter::new(session, tool, caps);
    if let Some(span) = span::current().filter(|_| caps.have_cost()) {
        let own = Arc::clone(&meter);
        span.set_meter(own);
        if tool.definition().compiled.uses_context {
            ctx.call_context().span.get_or_init(|| span);
        }
    }
    meter
}

/// A call that may run.
struct Permission {
    /// The guard of its charge.
    refund: RefundGuard,
    /// The grant that covers it, where a condition asks for approval.
    grant: Option<GrantedCall>,
}

/// A call that would wait for a person without a grant.
struct GrantedCall {
    grant: CallGrant,
    reasons: Vec<ApprovalReason>,
}
