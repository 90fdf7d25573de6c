//! The way of a governed call, a step a file: find, mode, turnstile, decode, admit (loop, then budget), confirm, execute,
//! record.
//!
//! Most calls are decoded, admitted and run in one go: the wrapper decodes, asks the gate ([`admit::Gate`]), and calls
//! the method. A call that has to wait for somebody between (a store across a network, a person, a hook, a journal, a
//! thread) is stopped at the gate and started a second time ([`held`]).

mod admit;
mod blocking;
mod confirm;
mod decode;
mod done;
mod execute;
mod find;
mod held;
mod journal;
mod mode;
mod observed;
mod record;
mod refund;
mod refusal;
mod reuse;
mod turnstile;

pub(crate) use confirm::nothing_waits;
pub(crate) use reuse::Reuse;

use super::policy::Policy;
use super::session::Core;
use crate::__private::{Call, Rejected};
use crate::call::{Answer, ToolCall, guard, note_nulls};
use crate::response::{ErrorKind, MASKED, ToolError, ToolResponse};
use crate::run::{Boxed, Progress, RunContext, Scope};
use crate::tool::{Definition, FunctionTool};
use crate::trace;
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
    if trace::is_wanted() { Box::pin(observed::run(core, call, how)).await } else { governed(core, call, how).await }
}

async fn governed(core: &Arc<Core>, call: ToolCall, mut how: Option<Box<How>>) -> ToolResponse {
    let began = Instant::now();
    let Some(_inside) = core.drain.enter() else { return inactive(core, &call, began) };
    let epoch = core.running.epoch();
    let Some((at, tool)) = find::find(core, call.name()) else { return find::unknown(core, &call, began) };
    let (scope, own, alone);
    let depth = how.as_ref().map_or(0, |how| how.depth);
    let progress = how.as_mut().and_then(|how| how.progress.take());
    let (ctx, call) = if tool.definition().body.uses_context {
        scope = Arc::new(self::scope(core, tool, call, depth, progress, began));
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
        if let Err(error) = mode::check(self).and_then(|()| find::check_depth(self)) {
            return record::refused(self, self.answer().fail(error)).await;
        }
        let _turn = match turnstile::enter(self).await {
            Ok(turn) => turn,
            Err(error) => return record::refused(self, self.answer().fail(error)).await,
        };
        let gate = admit::Gate::new(self);
        let response = self.start(&gate).await;
        record::record(self, &gate, response).await
    }

    /// Decodes, admits and runs: in one go where nothing has to be waited for.
    async fn start(&self, gate: &admit::Gate<'_>) -> ToolResponse {
        let settings = self.core.toolbox.context.settings();
        if let Err(problem) = decode::within_cap(self.text, settings) {
            return Box::pin(decode::refused(self, gate, &[problem])).await;
        }
        let frame = self.answer().frame(self.text, settings, false, Some(gate));
        match guard::start(self.tool, Call(&frame)) {
            Ok(invocation) => {
                let mut response = execute::drive(self, gate, invocation).await;
                note_nulls(&mut response, self.tool, &frame);
                response
            }
            Err(Rejected::Context(error)) => Box::pin(self.without_context(gate, error)).await,
            // Boxed, so that the ways which few calls take do not make every call's future larger.
            Err(Rejected::Held) => {
                let mut response = self.unless_it_panics(Box::pin(held::go_on(self, gate, self.text, false))).await;
                note_nulls(&mut response, self.tool, &frame);
                response
            }
            Err(Rejected::Arguments(_)) => self.unless_it_panics(Box::pin(decode::repaired(self, gate))).await,
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
    async fn without_context(&self, gate: &admit::Gate<'_>, error: ToolError) -> ToolResponse {
        refund::Refund::of(self, gate.turn()).give().await;
        self.answer().fail(error)
    }

    #[inline]
    fn answer(&self) -> Answer<'a> {
        Answer {
            tool: self.tool,
            ctx: self.ctx,
            call_id: Some(self.call_id),
            began: self.began,
            output_bytes: self.core.toolbox.context.settings().output_bytes,
        }
    }

    #[inline]
    fn policy(&self) -> &'a Policy {
        self.core.policy()
    }

    #[inline]
    fn definition(&self) -> &'a Definition {
        &self.tool.definition().body
    }

    /// How long the call may take, waiting included. R-B5
    fn limit(&self) -> Duration {
        limit(self.core, self.tool)
    }

    fn deadline(&self) -> Instant {
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

fn scope(
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
    let response = crate::call::refused(call, over(), began);
    record::count_aside(core, call, began, &response);
    response
}

pub(crate) fn over() -> ToolError {
    ToolError::session_inactive("the session has ended; nothing was done")
}

/// The canonical text of arguments that the tool has accepted.
fn canonical(tool: &FunctionTool, accepted: &str) -> String {
    crate::compare::canonical_text(&tool.definition().body, accepted)
}

/// The canonical text of arguments as a model sent them: of what the slow path makes of them, where it has to. What no
/// path accepts is left as it is. L29
pub(crate) fn canonical_of_sent(core: &Core, tool: &FunctionTool, text: &str) -> String {
    match crate::call::repair(tool, text, core.toolbox.context.settings()) {
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
    crate::text::hex(hash.finalize().get(..16).unwrap_or_default())
}
