//! The way of a governed call, from its arrival to its response. Read it from the top: each function calls the next.

use crate::arguments::prepare::{PreparedArguments, RefusedArguments, check_length};
use crate::arguments::{Fingerprint, Problem};
use crate::call::context::{CallContext, CallDeadline, RunContext};
use crate::call::error::MASKED;
use crate::call::{ErrorKind, Mode, ToolCall, ToolError, ToolResponse};
use crate::registry::context::MissedCall;
use crate::session::calls_in_progress::CallInProgress;
use crate::session::caps::SpendingCaps;
#[cfg(feature = "tower")]
use crate::session::inner::RuntimeInner;
use crate::session::inner::SessionInner;
#[cfg(feature = "tower")]
use crate::session::layers::LayerStack;
use crate::session::pipeline::admit::{AdmissionGate, RefundGuard};
use crate::session::pipeline::governed_call::{
    GovernedCall, progress_of, session_over, time_limit,
};
use crate::session::pipeline::governed_tool::GovernedTool;
use crate::session::pipeline::meter::CallMeter;
use crate::session::pipeline::{deferred, log_lines, record};
use crate::session::store::Charge;
use crate::session::timer;
use crate::session::updates::call_in_background;
use crate::time::CallInstant;
use crate::tool::FunctionTool;
use crate::tool::bare_call::repair_arguments;
use crate::tool::driver::drive;
use crate::tool::invocation::Rejection;
use crate::trace::span::{self, OpenSpan};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use std::future::ready;
use std::panic::AssertUnwindSafe;
use std::slice;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use tokio::time::timeout_at;
use tokio_util::sync::CancellationToken;

/// Makes a call, through the host's layers if there are some.
pub(crate) async fn call(session: &Arc<SessionInner>, call: ToolCall) -> ToolResponse {
    let is_plain =
        !session.runtime.has_layers() && session.background().is_none() && !is_observed(session);
    // Most calls need none of the futures between, each of which would move the call and its response.
    if is_plain {
        govern(session, call).await
    } else {
        call_outside(session, call).await
    }
}

/// Makes a call that has to pass layers, or that may be answered in the background, or that is observed.
fn call_outside(session: &Arc<SessionInner>, call: ToolCall) -> BoxFuture<'_, ToolResponse> {
    #[cfg(feature = "tower")]
    if let Some(layers) = &session.runtime.layers {
        return Box::pin(call_through_layers(session, layers, call));
    }
    Box::pin(call_inside_layers(session, call))
}

/// Returns true if calls have spans and log lines.
#[inline]
fn is_observed(session: &SessionInner) -> bool {
    span::is_wanted() || session.policy().caps().is_some_and(SpendingCaps::have_cost)
}

#[cfg(feature = "tower")]
async fn call_through_layers(
    session: &Arc<SessionInner>,
    layers: &LayerStack,
    call: ToolCall,
) -> ToolResponse {
    let tool = session.tools.find(call.name());
    // A control tool must not wait for the calls that it cancels.
    if tool.is_some_and(|(index, _)| session.tools.is_control_tool(index)) {
        return call_inside_layers(session, call).await;
    }
    let harmless = tool.is_none_or(|(_, tool)| tool.definition().compiled.is_harmless());
    let (began, unanswered) = (CallInstant::now(), call.clone());
    match layers
        .call(call.in_session(session.id.shared()), harmless)
        .await
    {
        Ok(response) => response,
        Err(error) => {
            let response = ToolResponse::refused(&unanswered, error, began);
            record::record_refusal(session, &unanswered, &response);
            response
        }
    }
}

/// Makes a call that has passed the layers, in the session that it came from.
#[cfg(feature = "tower")]
pub(crate) async fn call_from_layers(
    runtime: Option<Arc<RuntimeInner>>,
    call: ToolCall,
) -> ToolResponse {
    let session = runtime.and_then(|runtime| {
        let id = call.shared_session()?;
        // Another session may have opened under the same id while a layer held the call.
        runtime
            .session(id)
            .filter(|session| Arc::ptr_eq(&session.id.shared(), id))
    });
    match session {
        Some(session) => call_inside_layers(&session, call).await,
        None => ToolResponse::outside_session(&call),
    }
}

async fn call_inside_layers(session: &Arc<SessionInner>, call: ToolCall) -> ToolResponse {
    // An approved call has a result in the conversation already, which its first update cannot become.
    match session.background().filter(|_| call.approval().is_none()) {
        None => call_nested(session, call).await,
        Some(answers) => {
            Box::pin(call_in_background(
                Arc::clone(session),
                call,
                Arc::clone(answers),
            ))
            .await
        }
    }
}

/// Makes a call inside the layers, in a span and with log lines where they are wanted. A tool's own calls begin here.
pub(crate) async fn call_nested(session: &Arc<SessionInner>, call: ToolCall) -> ToolResponse {
    if is_observed(session) {
        let observed = log_lines::observe(session, call, |call| govern(session, call));
        Box::pin(observed).await
    } else {
        govern(session, call).await
    }
}

/// Finds the tool, and makes the call under the limits of its session.
async fn govern(session: &Arc<SessionInner>, call: ToolCall) -> ToolResponse {
    let began = CallInstant::now();
    let Some(mut place) = session.calls.enter() else {
        return Box::pin(inactive(session, &call, began)).await;
    };
    let epoch = session.running.epoch();
    let Some((index, tool)) = session.find_tool(call.name()) else {
        return Box::pin(unknown(session, &call, began)).await;
    };
    if let Some(search) = session.tools.search.as_deref()
        && call.depth() == 0
    {
        session.keep_called(search, index);
    }
    let (scope, own_ctx, owned_call);
    let (ctx, call) = if tool.definition().compiled.uses_context {
        scope = Arc::new(call_scope(session, tool, call, began));
        own_ctx = session.base.for_tool_in(&scope, &tool.definition().name);
        let Some(call) = &scope.call else {
            return Box::pin(inactive(session, &ToolCall::new("", "", ""), began)).await;
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
        epoch,
        meter,
        progress: OnceLock::new(),
        has_run: AtomicBool::new(false),
    };
    governed.run(&mut place).await
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

impl GovernedCall<'_> {
    /// Takes the call from its arrival to its response. What few calls need is boxed, so that it does not enlarge the future of
    /// every call, and the response exists after the last wait of most calls, so that it is not kept in a future.
    async fn run(&self, place: &mut CallInProgress<'_>) -> ToolResponse {
        let may_run = match self.may_run(place) {
            Ok(false) => Box::pin(self.wait_to_run(place)).await,
            at_once => at_once.map(drop),
        };
        if let Err(error) = may_run {
            return Box::pin(self.answer_unrun(error)).await;
        }

        let gate = AdmissionGate::new(self);
        let arguments = self.request.arguments();
        let settings = self.settings();
        if let Err(problem) = check_length(arguments, settings.argument_bytes) {
            let refused = self.refuse(&gate, slice::from_ref(&problem));
            return Box::pin(record::recorded(self, &gate, refused)).await;
        }

        let frame = self
            .responses()
            .frame(arguments, settings, false, Some(&gate), self);
        let tool = GovernedTool::at_gate(&gate);
        let mut response = match drive(&tool, &frame, self.began).await {
            Ok(response) => response,
            Err(rejection) => {
                let answered = Box::pin(self.answer_rejected(&gate, rejection));
                self.catch_panics(answered).await
            }
        };
        self.responses().report_nulls(&mut response, &frame);

        if record::record_now(self, &gate, &mut response) {
            return response;
        }
        Box::pin(record::recorded(self, &gate, ready(response))).await
    }

    /// Answers a call that was not let in.
    async fn answer_unrun(&self, error: ToolError) -> ToolResponse {
        let mut response = self.responses().fail(error);
        record::finish(self, None, false, &mut response).await;
        response
    }

    /// Checks that the tool serves the session's mode.
    #[inline]
    fn check_mode(&self) -> Result<(), ToolError> {
        if self.definition().options.modes.contains(self.mode) {
            Ok(())
        } else {
            Err(self.mode_restricted())
        }
    }

    #[cold]
    fn mode_restricted(&self) -> ToolError {
        let needed = self
            .definition()
            .options
            .modes
            .iter()
            .map(Mode::as_str)
            .collect::<Vec<_>>()
            .join(" or ");
        let mode = self.mode.as_str();
        let message = format!(
            "`{}` needs {needed} mode; this is {mode} mode",
            self.tool.name()
        );
        ToolError::new(ErrorKind::ModeRestricted, message, false)
    }

    /// Bounds the depth of tools that call tools.
    fn check_depth(&self) -> Result<(), ToolError> {
        let limit = self.policy.max_depth;
        if self.request.depth() <= limit {
            return Ok(());
        }
        let message = format!(
            "tools may call tools {limit} deep; `{}` would be one too many",
            self.tool.name()
        );
        Err(ToolError::new(ErrorKind::BudgetExceeded, message, false))
    }

    /// Refuses a call of a tool that has cost more than it may, and has not been cancelled yet.
    fn check_callers(&self) -> Result<(), ToolError> {
        let is_over = |span: &Arc<OpenSpan>| span.meters().any(|meter| meter.is_over());
        if self.meter.is_none() || !span::current().as_ref().is_some_and(is_over) {
            return Ok(());
        }
        let message = format!(
            "budget exceeded: the tool that calls `{}` has cost more than it may",
            self.tool.name()
        );
        Err(ToolError::new(ErrorKind::BudgetExceeded, message, false))
    }

    /// Checks that the call may be made. Returns false if it has to wait for others of its session.
    #[inline]
    fn may_run(&self, place: &mut CallInProgress<'_>) -> Result<bool, ToolError> {
        self.check_mode()
            .and_then(|()| self.check_depth())
            .and_then(|()| self.check_callers())?;
        if self.request.is_cancelled() {
            return Err(self.cancelled().did_not_run());
        }
        // A nested call uses its parent's permit, and a control tool must not wait for the calls that it cancels.
        let needs_none = self.request.depth() > 0 || self.session.tools.is_control_tool(self.index);
        Ok(needs_none || place.try_run(self.definition().options.annotations.sequential))
    }

    /// Waits until the call may run beside the others of its session.
    async fn wait_to_run(&self, place: &mut CallInProgress<'_>) -> Result<(), ToolError> {
        let turn = place.run_in_turn(self.definition().options.annotations.sequential);
        timer::check().map_err(ToolError::did_not_run)?;
        match timeout_at(self.deadline(), turn).await {
            Ok(()) => self.check_wanted(),
            Err(_) => Err(self
                .timed_out("waiting for other calls of the session")
                .did_not_run()),
        }
    }

    /// Answers a call whose method did not run at the first start: its arguments are repaired, or it waits for something else.
    async fn answer_rejected(
        &self,
        gate: &AdmissionGate<'_>,
        rejection: Rejection,
    ) -> ToolResponse {
        match rejection {
            Rejection::Arguments(_) | Rejection::Refused(_) => {
                self.repair_and_run(gate, rejection.refused()).await
            }
            Rejection::NotAdmitted => deferred::run(gate, self.request.arguments()).await,
            Rejection::Context(error) => self.without_context(gate, error).await,
        }
    }

    /// Repairs arguments that did not decode, and runs the call with them, or refuses it with every problem.
    async fn repair_and_run(
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
            Err(problems) => return self.refuse(gate, &problems).await,
        };
        gate.confirm_duplicate(confirm_duplicate);

        let frame = self
            .responses()
            .frame(&text, settings, true, Some(gate), self);
        let tool = GovernedTool::at_gate(gate);
        let mut response = match drive(&tool, &frame, CallInstant::now()).await {
            Ok(response) => response,
            Err(Rejection::NotAdmitted) => deferred::run(gate, &text).await,
            Err(Rejection::Context(error)) => self.without_context(gate, error).await,
            Err(Rejection::Arguments(error)) => {
                let problem = Problem::refused(error.path(), error.message());
                self.refuse(gate, &[problem]).await
            }
            Err(rejection @ Rejection::Refused(_)) => self.responses().reject(rejection),
        };
        if !coerced.is_empty() {
            response.optional_meta().coerced = coerced.into();
        }
        response
    }

    /// Answers VALIDATION, or `LOOP_DETECTED` once the same text was sent too often.
    async fn refuse(&self, gate: &AdmissionGate<'_>, problems: &[Problem]) -> ToolResponse {
        let attempt = gate.admission(
            Fingerprint::opaque(self.tool.name(), self.request.arguments()),
            Charge::Attempt,
        );
        match gate.ask(&attempt).await {
            Ok(()) => self.responses().refuse(problems),
            Err(error) => self.responses().fail(error),
        }
    }

    /// Answers a call whose context parameter could not be provided, so that the method did not run.
    async fn without_context(&self, gate: &AdmissionGate<'_>, error: ToolError) -> ToolResponse {
        RefundGuard::new(self.session, self.tool, gate.turn())
            .refund(self.meter.as_deref())
            .await;
        self.responses().fail(error)
    }

    /// Answers the call even if a store or a journal of the host panics.
    async fn catch_panics(&self, work: BoxFuture<'_, ToolResponse>) -> ToolResponse {
        AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|_| {
            tracing::error!(tool = %self.tool.name().escape_debug(), "a store, journal or hook panicked");
            self.responses().fail(ToolError::new(ErrorKind::Internal, MASKED, false).unexpected())
        })
    }
}

fn call_scope(
    session: &SessionInner,
    tool: &FunctionTool,
    call: ToolCall,
    began: CallInstant,
) -> CallContext {
    let progress = progress_of(session, &call, began);
    // What the tool has spawned ends with the call, and the host's token may be that of other calls, too.
    let cancellation = call.cancellation().map(CancellationToken::child_token);
    CallContext {
        turn: session.record.turn(),
        deadline: Some(CallDeadline::After(
            began,
            time_limit(session.policy(), tool),
        )),
        progress: progress.map(OnceLock::from).unwrap_or_default(),
        cancellation: cancellation.map(OnceLock::from).unwrap_or_default(),
        call: Some(call),
        ..CallContext::default()
    }
}

/// Answers `SESSION_INACTIVE`.
#[cold]
async fn inactive(session: &SessionInner, call: &ToolCall, began: CallInstant) -> ToolResponse {
    let mut response = ToolResponse::refused(call, session_over(), began);
    if session.is_lost() {
        response.optional_meta().session_is_lost = true;
    }
    record::count_without_tool(session, call, response).await
}

/// Answers a call of a tool that the session does not have.
#[cold]
async fn unknown(session: &SessionInner, call: &ToolCall, began: CallInstant) -> ToolResponse {
    let (tools, ctx) = (&session.tools.context, session.current_context());
    let searches = session
        .tools
        .search
        .as_ref()
        .is_some_and(|search| search.modes.contains(session.mode()));
    let hint = if searches {
        "; find others by `search_tools`"
    } else {
        ""
    };
    let missed = MissedCall {
        name: call.name(),
        call_id: Some(call.shared_id()),
        mode: Some(session.mode()),
        began,
    };
    let response = tools.answer_without_tool(&missed, &ctx, hint);
    record::count_without_tool(session, call, response).await
}
