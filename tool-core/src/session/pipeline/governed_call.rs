//! The context of one governed call, which every step of the pipeline reads.

use crate::arguments::fingerprint::Fingerprint;
use crate::call::asker::CallQuestions;
use crate::call::context::CallContext;
use crate::call::progress::Reporting;
use crate::call::{ErrorKind, Mode, Progress, RunContext, ToolCall, ToolError, ToolResponse};
use crate::session::audit::AuditedGrant;
use crate::session::caps::CapScope;
use crate::session::inner::SessionInner;
use crate::session::pipeline::meter::CallMeter;
use crate::session::policy::Policy;
use crate::session::running::{Interruptions, RunningCall, RunningGuard};
use crate::time;
use crate::time::CallInstant;
use crate::tool::bare_call::repair_arguments;
use crate::tool::call_settings::CallSettings;
use crate::tool::definition::CompiledDefinition;
use crate::tool::response_builder::ResponseBuilder;
use crate::tool::thread_time::ThreadTime;
use crate::tool::{Category, FunctionTool};
use sha2::{Digest, Sha256};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::time::Instant;

/// A governed call whose tool was found.
pub(crate) struct GovernedCall<'a> {
    pub(crate) session: &'a Arc<SessionInner>,
    /// The mode in which the call began, which governs all of it.
    pub(crate) mode: Mode,
    pub(crate) policy: &'a Policy,
    pub(crate) tool: &'a FunctionTool,
    /// The tool's index among the session's tools.
    pub(crate) index: usize,
    pub(crate) ctx: &'a RunContext,
    /// The call as it was sent.
    pub(crate) request: &'a ToolCall,
    pub(crate) began: CallInstant,
    /// The session's interruptions before the call began.
    pub(crate) interruptions_before: Interruptions,
    /// The meter of a call under caps.
    pub(crate) meter: Option<Arc<CallMeter>>,
    /// The progress of a call whose tool takes no context, as a stream reports its items.
    pub(crate) progress: OnceLock<Progress>,
    /// True once the tool has started, in this process or in an earlier one.
    pub(crate) has_run: AtomicBool,
    /// The grant that approved the call, or that was given with its approval.
    pub(crate) grant: OnceLock<Box<UsedGrant>>,
    /// The distinction of a call that may come again.
    pub(crate) repeatable: OnceLock<u128>,
}

/// A grant that concerns a call.
pub(crate) struct UsedGrant {
    /// The person who gave it.
    pub(crate) by: Arc<str>,
    pub(crate) audited: AuditedGrant,
}

impl Reporting for GovernedCall<'_> {
    fn progress(&self) -> &Progress {
        match self.scope() {
            Some(_) => self.ctx.progress(),
            None => self.progress.get_or_init(|| {
                progress_of(self.session, self.request, self.began).unwrap_or_default()
            }),
        }
    }
}

impl<'a> GovernedCall<'a> {
    #[inline]
    pub(crate) fn responses(&self) -> ResponseBuilder<'a> {
        ResponseBuilder {
            tool: self.tool,
            ctx: self.ctx,
            call_id: Some(self.request.shared_id()),
            began: self.began,
            output_bytes: self.settings().output_bytes,
        }
    }

    #[inline]
    pub(crate) fn settings(&self) -> &'a CallSettings {
        self.session.tools.context.settings()
    }

    #[inline]
    pub(crate) fn definition(&self) -> &'a CompiledDefinition {
        &self.tool.definition().compiled
    }

    /// Returns the time that the call may take, without that of the user.
    #[inline]
    pub(crate) fn limit(&self) -> Duration {
        let limit = time_limit(self.policy, self.tool);
        match self.meter.as_ref().and_then(|meter| meter.until()) {
            None => limit,
            Some(until) => limit.min(until.saturating_duration_since(self.began.to_instant())),
        }
    }

    /// Returns the time by which the polls of the tool are checked.
    #[inline]
    pub(crate) fn thread_time(&self) -> ThreadTime<'a> {
        ThreadTime {
            tool: self.tool,
            call_id: Some(self.request.shared_id()),
            began: self.began,
            limit: Some(self.limit()),
        }
    }

    pub(crate) fn deadline(&self) -> Instant {
        time::after(self.began.to_instant(), self.limit())
    }

    /// Returns the time until the deadline, which moves while the tool waits for the user.
    pub(crate) fn time_left(&self) -> Duration {
        let deadline = time::after(self.deadline(), self.waited());
        deadline.saturating_duration_since(Instant::now())
    }

    /// Returns the call's own part of the context, if the tool takes a context.
    pub(crate) fn scope(&self) -> Option<&'a Arc<CallContext>> {
        self.definition()
            .uses_context
            .then(|| self.ctx.call_context())
    }

    /// Takes note that the tool has started.
    #[inline]
    pub(crate) fn set_run(&self) {
        self.has_run.store(true, Ordering::Relaxed);
    }

    /// Returns true if the response is a refusal: an error without a run of the tool.
    #[inline]
    pub(crate) fn is_refusal(&self, response: &ToolResponse) -> bool {
        !response.is_ok() && !self.has_run.load(Ordering::Relaxed)
    }

    /// Returns the progress of the call, if its tool has reported anything.
    pub(crate) fn reported(&self) -> Option<&Progress> {
        self.scope()
            .map_or(&self.progress, |scope| &scope.progress)
            .get()
    }

    /// Returns what distinguishes a call that may come again: an engine makes it again after a crash,
    /// or a person may send an approval twice. `None` for a call that comes once.
    #[inline]
    pub(crate) fn repeatable(&self) -> Option<u128> {
        if self.request.approval().is_none() && !self.request.is_step() {
            return None;
        }
        Some(*self.repeatable.get_or_init(|| self.digest()))
    }

    #[cold]
    fn digest(&self) -> u128 {
        let call = self.request;
        let parts = match call.approval() {
            Some(approval) => ["approval", &*approval.id, ""],
            // A model may give another call the same id.
            None => [call.id(), call.name(), call.arguments()],
        };
        half_digest(Sha256::new(), &parts)
    }

    /// Returns true if no person is asked about the call: a person has approved it, or the session
    /// has added the tool itself.
    pub(crate) fn asks_no_one(&self) -> bool {
        self.session.tools.is_own(self.index) || self.request.approval().is_some()
    }

    /// Returns the person who has approved the call, or calls like it.
    pub(crate) fn approved_by(&self) -> Option<&Arc<str>> {
        let of_call = self.request.approval().map(|approval| &approval.by);
        of_call.or_else(|| self.grant.get().map(|used| &used.by))
    }

    /// Returns the questions of the call to the user, if it has asked some, or could by the calls
    /// that it makes.
    pub(crate) fn questions(&self) -> Option<&'a CallQuestions> {
        Some(self.scope()?.questions.get()?.as_ref())
    }

    /// Returns the time for which the call has waited for the user.
    fn waited(&self) -> Duration {
        self.questions()
            .map_or(Duration::ZERO, CallQuestions::waited)
    }

    /// Lists the call among the running calls of its session.
    pub(crate) fn list(&self) -> RunningGuard<'a> {
        self.session
            .running
            .enter(self.running_call(None), self.interruptions_before)
    }

    /// Returns the call's entry among the running calls. The fingerprint is given for tools that
    /// mind duplicates.
    pub(crate) fn running_call(&self, fingerprint: Option<u64>) -> RunningCall {
        let host = self.request.cancellation();
        RunningCall::new(
            self.request.shared_id(),
            self.tool,
            self.scope(),
            fingerprint,
            host,
        )
        .awaited(self.is_awaited())
    }

    /// Returns true if the model waits for the answer of the call. It has one of a call that a person
    /// has approved, and of one that goes on in the background. A nested call ends with its caller.
    fn is_awaited(&self) -> bool {
        let call = self.request;
        if call.depth() > 0 || call.approval().is_some() {
            return false;
        }
        let background = self.session.background();
        !background.is_some_and(|answers| answers.has_open(call.id()))
    }

    /// Checks that neither the session was interrupted nor the call cancelled while it waited to
    /// run.
    pub(crate) fn check_wanted(&self) -> Result<(), ToolError> {
        let interruptions = self.session.running.interruptions();
        let is_interrupted = interruptions != self.interruptions_before
            && interruptions.concern(self.is_awaited(), self.interruptions_before);
        if is_interrupted || self.request.is_cancelled() {
            Err(self.cancelled().did_not_run())
        } else {
            Ok(())
        }
    }

    /// Returns CANCELLED.
    pub(crate) fn cancelled(&self) -> ToolError {
        let message = format!("the call of `{}` was cancelled", self.tool.name());
        ToolError::new(ErrorKind::Cancelled, message, false).unexpected()
    }

    /// Returns the error of a call that has cost more than it may.
    pub(crate) fn too_expensive(&self) -> ToolError {
        let (cost, limit) = self
            .meter
            .as_ref()
            .map(|meter| meter.cost())
            .unwrap_or_default();
        let message = format!(
            "budget exceeded: `{}` was cancelled, as it has cost {cost} and {limit} were left for it. Do not call it again \
             with the same arguments; answer with what you have.",
            self.tool.name()
        );
        ToolError::new(ErrorKind::BudgetExceeded, message, false).unexpected()
    }

    /// Returns TIMEOUT, with what the call was doing and for how long.
    pub(crate) fn timed_out(&self, doing: &str) -> ToolError {
        let limit = self.limit();
        // The clocks of the deadline and of calls differ by less than a text should say.
        let taken = self
            .began
            .elapsed()
            .saturating_sub(self.waited())
            .max(limit);
        let message = format!(
            "`{}` timed out after {} ms {doing}; its limit is {} ms",
            self.tool.name(),
            taken.as_millis(),
            time::milliseconds(limit)
        );
        ToolError::new(ErrorKind::Timeout, message, self.definition().is_harmless()).unexpected()
    }

    /// Returns the time for which the result may answer later equal calls, if it may. Only that of a
    /// retrieval does: an answer from the cache has no effect, and other tools may have one.
    #[inline]
    fn cache_ttl(&self) -> Option<Duration> {
        let ttl = self.policy.result_cache_ttl?;
        let is_retrieval = self.definition().options.category == Category::Retrieval;
        // A search declares what it finds.
        (is_retrieval && !self.session.tools.is_search(self.index)).then_some(ttl)
    }

    /// Returns true if the result may answer later equal calls.
    #[inline]
    pub(crate) fn is_cacheable(&self) -> bool {
        self.cache_ttl().is_some()
    }

    /// Returns the result of an equal call as this call's response, with a warning that names the
    /// other call.
    pub(crate) fn cached_result(&self, text: &str) -> Option<ToolResponse> {
        let ttl = self.cache_ttl()?;
        let mut response = self
            .session
            .rare()
            .results
            .get(&self.fingerprint(text).digest(), ttl)?;
        response.drop_intents();
        let other = response
            .meta
            .call_id
            .replace(Arc::clone(self.request.shared_id()))
            .unwrap_or_default();
        response.meta.duration = self.began.elapsed();
        response.optional_meta().warnings.push(format!(
            "the result of call `{other}`, which had equal arguments"
        ));
        Some(response)
    }

    /// Keeps the result of a successful call.
    pub(crate) fn cache_result(&self, text: &str, response: &ToolResponse) {
        if response.is_ok()
            && let Some(ttl) = self.cache_ttl()
        {
            let digest = self.fingerprint(text).digest();
            self.session.rare().results.insert(digest, response, ttl);
        }
    }

    /// Identifies the call by arguments that the tool has accepted.
    #[inline]
    pub(crate) fn fingerprint<'b>(&'b self, text: &'b str) -> Fingerprint<'b> {
        Fingerprint::of(self.definition().equality(), self.tool.name(), text)
    }
}

/// Returns the progress of a call that some listener hears.
pub(crate) fn progress_of(
    session: &SessionInner,
    call: &ToolCall,
    began: CallInstant,
) -> Option<Progress> {
    let of_session = session
        .updates
        .get()
        .and_then(|options| options.progress_of(call, began));
    of_session.or_else(|| call.progress().map(Progress::of_attempt))
}

/// Returns the time that a call of the tool may take, including its waiting.
#[inline]
pub(crate) fn time_limit(policy: &Policy, tool: &FunctionTool) -> Duration {
    let limit = tool.definition().timeout().unwrap_or(policy.deadline);
    policy
        .caps()
        .and_then(|caps| caps.time(CapScope::Call))
        .map_or(limit, |cap| limit.min(cap))
}

/// Returns the longest time for which a call of the tool runs: its time limit, and the time for which
/// it may wait for its user, which no limit counts.
pub(crate) fn longest_run(
    policy: &Policy,
    tool: &FunctionTool,
    call: &ToolCall,
    ctx: &RunContext,
) -> Duration {
    time_limit(policy, tool).saturating_add(question_time(policy, tool, call, ctx))
}

/// Returns the longest time for which a call of the tool waits for its user.
pub(crate) fn question_time(
    policy: &Policy,
    tool: &FunctionTool,
    call: &ToolCall,
    ctx: &RunContext,
) -> Duration {
    let has_handlers = ctx.host_handlers().is_some() || call.asker().is_some();
    if !tool.definition().compiled.uses_context || !has_handlers {
        return Duration::ZERO;
    }
    let questions = policy.questions;
    questions.timeout.saturating_mul(questions.call)
}

/// Returns the error of a call in a session that is over.
pub(crate) fn session_over() -> ToolError {
    ToolError::session_inactive("the session has ended; nothing was done")
}

/// Returns the canonical text of arguments as a model sent them, after repair. Arguments that
/// cannot be repaired are returned unchanged.
pub(crate) fn canonical_sent_arguments(
    session: &SessionInner,
    tool: &FunctionTool,
    text: &str,
) -> String {
    match repair_arguments(tool, text, None, session.tools.context.settings()) {
        Ok(prepared) => tool
            .definition()
            .compiled
            .equality()
            .canonical_text(&prepared.text),
        Err(_) => text.to_owned(),
    }
}

/// Returns arguments of a model as the history has them, after repair. Arguments that cannot be
/// repaired are returned unchanged.
pub(crate) fn history_arguments(session: &SessionInner, tool: &FunctionTool, text: &str) -> String {
    match repair_arguments(tool, text, None, session.tools.context.settings()) {
        Ok(prepared) => tool.definition().compiled.history_text(&prepared.text),
        Err(_) => text.to_owned(),
    }
}

/// Returns the key that every attempt at the same call shares, in all processes. Another session
/// gives another key, also one that is opened later under the same id.
pub(crate) fn idempotency_key(
    session: &SessionInner,
    turn: u64,
    tool: &str,
    arguments: &str,
) -> String {
    let incarnation = session.record.incarnation().to_be_bytes();
    let hash = Sha256::new().chain_update(incarnation);
    let turn = turn.to_string();
    let parts = [session.id.as_str(), &turn, tool, arguments];
    format!("{:032x}", half_digest(hash, &parts))
}

/// Adds texts to a hash, and returns the first half of its digest.
fn half_digest(mut hash: Sha256, parts: &[&str]) -> u128 {
    for part in parts {
        // The length goes first, so that no character can move from one part to the next.
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    let digest = hash.finalize();
    let (first_half, _) = digest.split_at(16);
    first_half
        .iter()
        .fold(0, |number, byte| number << 8 | u128::from(*byte))
}
