//! The way of a governed call, a step a file: find, mode, turnstile, decode, admit (loop, then budget), confirm, execute,
//! record.
//!
//! Most calls are decoded, admitted and run in one go: the wrapper decodes, asks the gate ([`admit::Gate`]), and calls
//! the method. A call that has to wait for somebody between (a store across a network, a person, a hook, a journal, a
//! thread) is stopped at the gate and started a second time ([`held`]).

pub(crate) mod admit;
pub(crate) mod deferred;
pub(crate) mod empty;
pub(crate) mod execute;
pub(crate) mod journal;
pub(crate) mod observed;
pub(crate) mod record;

use crate::arguments::equality;
use crate::arguments::equality::Fingerprint;
use crate::arguments::prepare::Prepared;
use crate::arguments::problem::Problem;
use crate::call::context::RunContext;
use crate::call::error::{ErrorKind, ToolError};
use crate::call::mode::Mode;
use crate::call::progress::Progress;
use crate::call::response::ToolResponse;
use crate::call::scope::{Boxed, Scope};
use crate::call::tool_call::ToolCall;
use crate::call::{MASKED, refusal};
use crate::session::concurrency;
use crate::session::pipeline::admit::Gate;
use crate::session::policy::Policy;
use crate::session::session::Core;
use crate::session::store::admission::Charge;
use crate::text;
use crate::tool::body::Definition;
use crate::tool::dispatch;
use crate::tool::dispatch::{Answer, Settings, note_nulls, repair, too_long, unknown_tool};
use crate::tool::function::FunctionTool;
use crate::tool::invocation::{Call, Rejected};
use crate::trace::span;
use futures_util::FutureExt;
use sha2::{Digest, Sha256};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::time::Instant;

/// How a call comes in, where it is not a model's own. Boxed, as few calls have it.
#[derive(Default)]
pub(crate) struct How {
    /// How many tools stand above it.
    pub(crate) depth: u32,
    /// The id under which it waited for a person, who has agreed.
    pub(crate) approval: Option<Arc<str>>,
    /// Where its updates go.
    pub(crate) progress: Option<Progress>,
}

impl How {
    /// As the call itself says.
    pub(crate) fn of(call: &ToolCall) -> Option<Box<Self>> {
        let approval = call.approval().cloned();
        let progress = call.heard().map(|heard| {
            let shown = Arc::clone(&heard.0);
            Progress::listened(move |update| shown(update))
        });
        (approval.is_some() || progress.is_some()).then(|| Box::new(Self { approval, progress, ..Self::default() }))
    }
}

/// One governed call, once its tool is found.
pub(crate) struct Governed<'a> {
    pub(crate) core: &'a Arc<Core>,
    pub(crate) tool: &'a FunctionTool,
    /// Where the tool stands among the session's.
    pub(crate) at: usize,
    pub(crate) ctx: &'a RunContext,
    pub(crate) call_id: &'a Arc<str>,
    /// The arguments as the model sent them.
    pub(crate) text: &'a str,
    pub(crate) approval: Option<&'a str>,
    pub(crate) depth: u32,
    pub(crate) began: Instant,
    /// When the session had last been interrupted before it began.
    pub(crate) epoch: u64,
}

/// Makes a call, in a span of its own where somebody looks.
pub(crate) async fn run(core: &Arc<Core>, call: ToolCall, how: Option<Box<How>>) -> ToolResponse {
    if span::is_wanted() { Box::pin(observed::run(core, call, how)).await } else { governed(core, call, how).await }
}

async fn governed(core: &Arc<Core>, call: ToolCall, mut how: Option<Box<How>>) -> ToolResponse {
    let began = Instant::now();
    let Some(_inside) = core.drain.enter() else { return inactive(core, &call, began) };
    let epoch = core.running.epoch();
    let Some((at, tool)) = find(core, call.name()) else { return unknown(core, &call, began) };
    let (scope, own, alone);
    let depth = how.as_ref().map_or(0, |how| how.depth);
    let progress = how.as_mut().and_then(|how| how.progress.take());
    let (ctx, call) = if tool.definition().body.uses_context {
        scope = Arc::new(call_scope(core, tool, call, depth, progress, began));
        own = core.base.with_scope(&scope, &tool.definition().name);
        let Some(call) = &scope.call else { return inactive(core, &ToolCall::new("", "", ""), began) };
        (&own, call)
    } else {
        alone = call;
        (&core.base, &alone)
    };
    let governed = Governed {
        core,
        tool,
        at,
        ctx,
        call_id: call.shared_id(),
        text: call.arguments(),
        approval: how.as_ref().and_then(|how| how.approval.as_deref()),
        depth,
        began,
        epoch,
    };
    governed.go().await
}

impl<'a> Governed<'a> {
    async fn go(&self) -> ToolResponse {
        if let Err(error) = check(self).and_then(|()| check_depth(self)) {
            return record::refused(self, self.answer().fail(error)).await;
        }
        let _turn = match concurrency::enter(self).await {
            Ok(turn) => turn,
            Err(error) => return record::refused(self, self.answer().fail(error)).await,
        };
        let gate = Gate::new(self);
        let response = self.start(&gate).await;
        record::record(self, &gate, response).await
    }

    /// Decodes, admits and runs: in one go where nothing has to be waited for.
    async fn start(&self, gate: &Gate<'_>) -> ToolResponse {
        let settings = self.core.toolbox.context.settings();
        if let Err(problem) = within_cap(self.text, settings) {
            return Box::pin(refused(self, gate, &[problem])).await;
        }
        let frame = self.answer().frame(self.text, settings, false, Some(gate));
        match dispatch::start(self.tool, Call(&frame)) {
            Ok(invocation) => {
                let mut response = execute::drive(self, gate, invocation).await;
                note_nulls(&mut response, self.tool, &frame);
                response
            }
            Err(Rejected::Context(error)) => Box::pin(self.without_context(gate, error)).await,
            // Boxed, so that the ways which few calls take do not make every call's future larger.
            Err(Rejected::Held) => {
                let mut response = self.unless_it_panics(Box::pin(deferred::go_on(self, gate, self.text, false))).await;
                note_nulls(&mut response, self.tool, &frame);
                response
            }
            Err(Rejected::Arguments(_)) => self.unless_it_panics(Box::pin(repaired(self, gate))).await,
        }
    }

    /// What a store or a journal of the host's does must not take the answer away.
    async fn unless_it_panics(&self, going_on: Boxed<'_, ToolResponse>) -> ToolResponse {
        AssertUnwindSafe(going_on).catch_unwind().await.unwrap_or_else(|_| {
            tracing::error!(tool = %self.tool.name().escape_debug(), "what a call waits for panicked");
            self.answer().fail(ToolError::new(ErrorKind::Internal, MASKED, false).unexpected())
        })
    }

    /// A context parameter was not to be had, so the method did not run.
    async fn without_context(&self, gate: &Gate<'_>, error: ToolError) -> ToolResponse {
        admit::Refund::of(self, gate.turn()).give().await;
        self.answer().fail(error)
    }

    #[inline]
    pub(crate) fn answer(&self) -> Answer<'a> {
        Answer {
            tool: self.tool,
            ctx: self.ctx,
            call_id: Some(self.call_id),
            began: self.began,
            output_bytes: self.core.toolbox.context.settings().output_bytes,
        }
    }

    #[inline]
    pub(crate) fn policy(&self) -> &'a Policy {
        self.core.policy()
    }

    #[inline]
    pub(crate) fn definition(&self) -> &'a Definition {
        &self.tool.definition().body
    }

    /// How long the call may take, waiting included. R-B5
    fn limit(&self) -> Duration {
        limit(self.core, self.tool)
    }

    pub(crate) fn deadline(&self) -> Instant {
        deadline(self.began, self.limit())
    }

    /// The part of the context that is the call's own, where the tool takes a context.
    fn scope(&self) -> Option<&'a Arc<Scope>> {
        self.definition().uses_context.then(|| self.ctx.scope())
    }
}

#[inline]
fn limit(core: &Core, tool: &FunctionTool) -> Duration {
    tool.definition().timeout().unwrap_or(core.policy().deadline)
}

fn deadline(began: Instant, limit: Duration) -> Instant {
    // A limit beyond what the clock can tell is none.
    began.checked_add(limit).unwrap_or_else(|| began + Duration::from_hours(24 * 365))
}

fn call_scope(
    core: &Core,
    tool: &FunctionTool,
    call: ToolCall,
    depth: u32,
    progress: Option<Progress>,
    began: Instant,
) -> Scope {
    Scope {
        call: Some(call),
        turn: core.record.turn(),
        depth,
        deadline: Some(deadline(began, limit(core, tool)).into_std()),
        progress: progress.map(OnceLock::from).unwrap_or_default(),
        ..Scope::default()
    }
}

/// `SESSION_INACTIVE`. R-I3
#[cold]
fn inactive(core: &Core, call: &ToolCall, began: Instant) -> ToolResponse {
    let response = refusal::refused(call, over(), began);
    record::count_aside(core, call, began, &response);
    response
}

pub(crate) fn over() -> ToolError {
    ToolError::session_inactive("the session has ended; nothing was done")
}

/// The canonical text of arguments that the tool has accepted.
pub(crate) fn canonical(tool: &FunctionTool, accepted: &str) -> String {
    equality::canonical_text(tool.definition().body.parameters(), accepted)
}

/// The canonical text of arguments as a model sent them: of what the slow path makes of them, where it has to. What no
/// path accepts is left as it is. L29
pub(crate) fn canonical_of_sent(core: &Core, tool: &FunctionTool, text: &str) -> String {
    match repair(tool, text, core.toolbox.context.settings()) {
        Ok(prepared) => canonical(tool, &prepared.text),
        Err(_) => text.to_owned(),
    }
}

/// The key that every attempt at the same call shares.
pub(crate) fn idempotency_key(session: &str, turn: u64, tool: &str, arguments: &str) -> String {
    let mut hash = Sha256::new();
    let turn = turn.to_string();
    for part in [session, &turn, tool, arguments] {
        // With its length, so that nothing moves from one part to the next.
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    text::hex(hash.finalize().get(..16).unwrap_or_default())
}

// ---- The first step: the tool of that name, among those that the session began with.

#[inline]
pub(crate) fn find<'a>(core: &'a Core, name: &str) -> Option<(usize, &'a FunctionTool)> {
    core.toolbox.find(name).filter(|(_, tool)| !tool.is_dynamic() || tool.visible_in(&core.now()))
}

/// `NOT_FOUND`, with the nearest name and those there are. L19
#[cold]
pub(crate) fn unknown(core: &Core, call: &ToolCall, began: Instant) -> ToolResponse {
    let now = core.now();
    let names = core.toolbox.context.visible_names(&now);
    let response = unknown_tool(call.name(), Some(call.shared_id()), names, began);
    record::count_aside(core, call, began, &response);
    response
}

/// Tools that call tools that call tools come to an end. R-B4
pub(crate) fn check_depth(call: &Governed<'_>) -> Result<(), ToolError> {
    let limit = call.policy().depth;
    if call.depth <= limit {
        return Ok(());
    }
    let message = format!("tools may call tools {limit} deep; `{}` would be one too many", call.tool.name());
    Err(ToolError::new(ErrorKind::BudgetExceeded, message, false))
}

// ---- The second step: whether the tool serves the session's mode. R-B3

#[inline]
pub(crate) fn check(call: &Governed<'_>) -> Result<(), ToolError> {
    if call.definition().modes.contains(call.core.mode) { Ok(()) } else { Err(restricted(call)) }
}

#[cold]
fn restricted(call: &Governed<'_>) -> ToolError {
    let needed = call.definition().modes.iter().map(Mode::as_str).collect::<Vec<_>>().join(" or ");
    let message = format!("`{}` needs {needed} mode; this is {} mode", call.tool.name(), call.core.mode.as_str());
    ToolError::new(ErrorKind::ModeRestricted, message, false)
}

// ---- The fourth step: the arguments. What decodes goes on at once; what does not is put right, or refused with every
// problem. L28

#[inline]
pub(crate) fn within_cap(text: &str, settings: &Settings) -> Result<(), Problem> {
    if text.len() <= settings.argument_bytes { Ok(()) } else { Err(too_long(text.len(), settings.argument_bytes)) }
}

/// The slow path: finds out what is wrong, puts right what can be, and starts the tool again.
pub(crate) async fn repaired(call: &Governed<'_>, gate: &Gate<'_>) -> ToolResponse {
    let settings = call.core.toolbox.context.settings();
    let Prepared { text, coerced, confirm_duplicate } = match repair(call.tool, call.text, settings) {
        Ok(prepared) => prepared,
        Err(problems) => return refused(call, gate, &problems).await,
    };
    gate.confirm_duplicate(confirm_duplicate);
    let frame = call.answer().frame(&text, settings, true, Some(gate));
    let mut response = match dispatch::start(call.tool, Call(&frame)) {
        Ok(invocation) => execute::drive(call, gate, invocation).await,
        Err(Rejected::Held) => deferred::go_on(call, gate, &text, true).await,
        Err(Rejected::Arguments(error)) => {
            refused(call, gate, &[Problem::refused(error.path(), error.message())]).await
        }
        Err(Rejected::Context(error)) => call.without_context(gate, error).await,
    };
    if !coerced.is_empty() {
        response.rare().coerced = coerced;
    }
    response
}

/// VALIDATION; the third time for the same text `LOOP_DETECTED`. R-L1
pub(crate) async fn refused(call: &Governed<'_>, gate: &Gate<'_>, problems: &[Problem]) -> ToolResponse {
    let attempt = gate.admission(Fingerprint::opaque(call.tool.name(), call.text), Charge::Attempt);
    match gate.ask(&attempt).await {
        Ok(()) => call.answer().refuse(problems),
        Err(error) => call.answer().fail(error),
    }
}
