//! The state behind the handles of a runtime and of its sessions.

use crate::call::Mode;
use crate::call::context::{CallContext, RunContext, SessionMemos};
use crate::call::handlers::SharedHandlers;
use crate::registry::context::SharedResource;
use crate::session::account::{Accounts, Payers};
use crate::session::approval_requests::ApprovalRequests;
use crate::session::approvals::Signer;
use crate::session::calls_in_progress::CallsInProgress;
use crate::session::circuit_breaker::Circuits;
use crate::session::drain_switch::{DrainSwitch, OpenReplies};
use crate::session::earlier_calls::EarlierCalls;
use crate::session::generations::Generations;
use crate::session::guards::Guards;
use crate::session::hooks::Hook;
use crate::session::journal::{DynJournal, JournalError};
use crate::session::journal_seal::JournalSealer;
#[cfg(feature = "tower")]
use crate::session::layers::LayerStack;
use crate::session::metrics::call_log::CallLog;
use crate::session::metrics::context::{ContextUsage, tokens_in};
use crate::session::metrics::report::RuntimeMetrics;
use crate::session::metrics::spare_room::SpareRoom;
use crate::session::metrics::speech::SpeechStats;
use crate::session::playout::Playout;
use crate::session::policy::Policy;
use crate::session::result_cache::ResultCache;
use crate::session::running::RunningCalls;
use crate::session::search::FoundTools;
use crate::session::state::SessionId;
use crate::session::store::handle::within;
use crate::session::store::handle::{DynStore, RecordHandle};
use crate::session::thread_pool::ThreadPool;
use crate::session::tools::SessionTools;
use crate::session::unrecorded_calls::UnrecordedCalls;
use crate::session::updates::{BackgroundAnswers, UpdateLog, UpdateOptions};
use crate::tool::FunctionTool;
use crate::tool::instance::{OpenToolsets, release};
use futures_util::future::join_all;
use parking_lot::{Mutex, RwLock};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

/// The state that all sessions of a runtime share.
pub(crate) struct RuntimeInner {
    pub(crate) tools: RwLock<Arc<SessionTools>>,
    pub(crate) store: Arc<dyn DynStore>,
    pub(crate) journal: Option<Arc<dyn DynJournal>>,
    pub(crate) handlers: SharedHandlers,
    pub(crate) hooks: Vec<Arc<dyn Hook>>,
    pub(crate) guards: Guards,
    #[cfg(feature = "tower")]
    pub(crate) layers: Option<LayerStack>,
    pub(crate) signer: Signer,
    pub(crate) journal_sealer: JournalSealer,
    /// The sessions that have a handle in this process.
    pub(crate) sessions: Mutex<HashMap<Arc<str>, Weak<SessionInner>>>,
    /// The threads of `blocking` tools.
    pub(crate) threads: ThreadPool,
    pub(crate) metrics: RuntimeMetrics,
    pub(crate) circuits: Circuits,
    pub(crate) accounts: Mutex<Accounts>,
    pub(crate) approvals: ApprovalRequests,
    pub(crate) unrecorded: UnrecordedCalls,
    /// The spare bytes of the lists of calls, of sessions that are not in memory.
    pub(crate) spare: Arc<SpareRoom>,
    pub(crate) drain: DrainSwitch,
}

impl RuntimeInner {
    /// Returns true if a hook has something to do before a call, so that the call waits for it.
    #[inline]
    pub(crate) fn has_hooks_before(&self) -> bool {
        self.hooks.iter().any(|hook| !hook.only_after())
    }

    /// Returns true if the host has put layers of tower around calls.
    #[cfg_attr(
        not(feature = "tower"),
        allow(clippy::unused_self, reason = "no layer exists without tower")
    )]
    pub(crate) fn has_layers(&self) -> bool {
        #[cfg(feature = "tower")]
        return self.layers.is_some();
        #[cfg(not(feature = "tower"))]
        return false;
    }

    /// Returns the current tools.
    pub(crate) fn tools(&self) -> Arc<SessionTools> {
        Arc::clone(&self.tools.read())
    }

    /// Finds a session that has a handle in this process.
    pub(crate) fn session(&self, id: &str) -> Option<Arc<SessionInner>> {
        self.sessions.lock().get(id)?.upgrade()
    }
}

/// The state that all handles of one session under the same tools share. A session that is renewed has
/// several of them.
pub(crate) struct SessionInner {
    /// Closed when the session ends.
    pub(crate) calls: CallsInProgress,
    pub(crate) record: RecordHandle,
    pub(crate) runtime: Arc<RuntimeInner>,
    pub(crate) tools: Arc<SessionTools>,
    /// Created by the first call of a session that is not in memory.
    pub(crate) own_log: OnceLock<Box<CallLog>>,
    /// The host's wishes about updates. Created with the first of them.
    pub(crate) updates: OnceLock<Arc<UpdateOptions>>,
    pub(crate) running: RunningCalls,
    pub(crate) replies: OpenReplies,
    pub(crate) id: SessionId,
    pub(crate) principal: Arc<str>,
    /// The context from which the contexts of calls are made.
    pub(crate) base: RunContext,
    pub(crate) context_usage: ContextUsage,
    pub(crate) opened: Instant,
    pub(crate) ended: OnceLock<Instant>,
    /// Created when it is first used.
    pub(crate) rare: OnceLock<Box<RareState>>,
    /// The resources that the tools need until the session ends.
    pub(crate) resources: Mutex<Option<Box<SessionResources>>>,
}

/// The state that most sessions do not need.
#[derive(Default)]
pub(crate) struct RareState {
    pub(crate) shared: Arc<SharedState>,
    pub(crate) results: ResultCache,
    /// The session's share of the blocking pool. Created when a `blocking` tool is called.
    pub(crate) threads: OnceLock<ThreadPool>,
    /// The tools that the model has found.
    pub(crate) found: Mutex<FoundTools>,
    /// Ends the reads of prompts and resources. Created by the first.
    pub(crate) reads: OnceLock<CancellationToken>,
}

/// The state that a session keeps when it is renewed, so that all of its generations share it.
#[derive(Default)]
pub(crate) struct SharedState {
    pub(crate) generations: Generations<SessionInner>,
    pub(crate) updates: UpdateLog,
    pub(crate) playout: Playout,
    /// Created when a transport first measures speech.
    pub(crate) speech: OnceLock<Box<SpeechStats>>,
    /// The calls that other processes recorded in the journal.
    pub(crate) earlier: Mutex<EarlierCalls>,
    /// The ids of running calls that are recorded in the journal.
    pub(crate) journaled: Mutex<HashSet<Arc<str>>>,
    /// Created by the first call under caps.
    pub(crate) payers: OnceLock<Payers>,
    /// The questions of tools that wait for the user.
    pub(crate) waiting_questions: AtomicU32,
    /// The values that tools keep for the session in this process.
    pub(crate) memos: SessionMemos,
    /// True if the session is closed because its store does not know it any more.
    pub(crate) is_lost: AtomicBool,
}

/// The resources that the tools of a session need.
pub(crate) struct SessionResources {
    /// The toolsets that the session keeps open.
    pub(crate) toolsets: OpenToolsets,
    /// The resource of the tools that the session brought.
    pub(crate) brought: Option<SharedResource>,
}

/// The time for which the end of a session waits for its cancelled calls.
const CLOSING: Duration = Duration::from_secs(5);

impl SessionInner {
    #[inline]
    pub(crate) fn policy(&self) -> &Policy {
        self.policy_of(self.mode())
    }

    #[inline]
    pub(crate) fn policy_of(&self, mode: Mode) -> &Policy {
        &self.tools.policies[mode as usize]
    }

    #[inline]
    pub(crate) fn mode(&self) -> Mode {
        self.record.mode()
    }

    /// Returns the calls that this process has answered. Those of a session in memory are in the
    /// store's own list.
    pub(crate) fn log(&self) -> &CallLog {
        let new = || {
            let policy = self.policy();
            Box::new(CallLog::new(
                policy.call_history,
                policy.redaction.clone(),
                &self.runtime.spare,
            ))
        };
        self.record
            .log()
            .unwrap_or_else(|| self.own_log.get_or_init(new))
    }

    /// Returns the agent to which the tools belong; empty if they belong to none.
    pub(crate) fn agent(&self) -> &str {
        self.tools.context.agent().map_or("", |agent| agent)
    }

    /// Returns the key of the session in the journal.
    pub(crate) fn journal_key(&self) -> Cow<'_, str> {
        journal_key(self.id.as_str(), &self.principal, self.agent())
    }

    /// Returns the first turn of the history.
    pub(crate) fn first_turn(&self) -> u64 {
        let turns = u64::try_from(self.policy().limits.history).unwrap_or(u64::MAX);
        (self.record.turn() + 1).saturating_sub(turns)
    }

    /// Returns the state that most sessions do not need. The first caller creates it.
    pub(crate) fn rare(&self) -> &RareState {
        self.rare.get_or_init(Box::default)
    }

    /// Returns the state that the session keeps when it is renewed. The first caller creates it.
    pub(crate) fn shared(&self) -> &SharedState {
        &self.rare().shared
    }

    /// Returns the state that the session keeps when it is renewed, if something has used it.
    pub(crate) fn used_shared(&self) -> Option<&SharedState> {
        self.rare.get().map(|rare| &*rare.shared)
    }

    /// Returns the state with which a session begins that renews this one under these tools.
    pub(crate) fn renewed_state(&self, tools: &SessionTools) -> RareState {
        let rare = self.rare();
        let index_of = |index: usize| {
            let tool = self.tools.context.function_tools().get(index)?;
            let (index, _) = tools.find(tool.name())?;
            Some(index)
        };
        let found = rare.found.lock().moved(index_of);
        RareState {
            shared: Arc::clone(&rare.shared),
            found: Mutex::new(found),
            ..RareState::default()
        }
    }

    /// Returns true if a session that its store does not know any more was not ended here.
    pub(crate) fn is_lost(&self) -> bool {
        let was_lost = || {
            self.used_shared()
                .is_some_and(|shared| shared.is_lost.load(Ordering::SeqCst))
        };
        !self.calls.is_closed() || was_lost()
    }

    /// Returns the session under its other tools, earlier or later ones, as far as they are in use.
    pub(crate) fn other_generations(&self) -> Vec<Arc<Self>> {
        self.used_shared()
            .map(|shared| shared.generations.others(self))
            .unwrap_or_default()
    }

    /// Returns true if the session has not been renewed since it got these tools.
    pub(crate) fn is_newest(&self) -> bool {
        self.used_shared()
            .is_none_or(|shared| shared.generations.is_newest(self))
    }

    /// Returns true if this process is running a call of the session, under whichever tools.
    pub(crate) fn is_running(&self, call_id: &str) -> bool {
        let is_recorded = self
            .used_shared()
            .is_some_and(|shared| shared.journaled.lock().contains(call_id));
        if is_recorded || self.running.has(call_id) {
            return true;
        }
        let others = self.other_generations();
        others.iter().any(|other| other.running.has(call_id))
    }

    /// Returns the session's share of the blocking pool.
    pub(crate) fn threads(&self) -> &ThreadPool {
        self.rare()
            .threads
            .get_or_init(|| ThreadPool::new(self.policy().session_threads))
    }

    /// Returns the parties that pay for the calls.
    pub(crate) fn payers(&self) -> &Payers {
        self.shared()
            .payers
            .get_or_init(|| Payers::new(self.runtime.accounts.lock().of(&self.principal)))
    }

    /// Finds a tool that the model may call now, and its index.
    #[inline]
    pub(crate) fn find_tool(&self, name: &str) -> Option<(usize, &FunctionTool)> {
        self.tools
            .find(name)
            .filter(|(_, tool)| !tool.is_dynamic() || tool.visible_in(&self.current_context()))
    }

    /// Returns a context for the predicates of tools, with the session's current turn.
    pub(crate) fn current_context(&self) -> RunContext {
        let scope = CallContext {
            turn: self.record.turn(),
            ..CallContext::default()
        };
        self.base.with_new_call(Arc::new(scope))
    }

    /// Takes in the system prompt of the model.
    pub(crate) fn observe_system_prompt(&self, text: &str) {
        if self.context_usage.set_prompt(tokens_in(text)) {
            self.runtime.metrics.session_opened(self.initial_context());
        }
    }

    /// Takes in the context size that a provider has reported.
    pub(crate) fn observe_context(&self, tokens: u64) {
        self.runtime.metrics.observe_context(tokens);
        let window = self.policy().context_window;
        if self.context_usage.observe(tokens, window) {
            let session = self.id.as_str().escape_debug();
            tracing::warn!(target: "tool_core::context", %session, tokens, window, "the context window is nearly full");
        }
    }

    /// Returns the answers of calls that go on in the background, if the session answers calls in
    /// this way.
    pub(crate) fn background(&self) -> Option<&Arc<BackgroundAnswers>> {
        self.updates.get()?.background()
    }

    /// Returns true if this is the session of that incarnation, and has not ended here or in
    /// another process.
    pub(crate) fn is_open_as(&self, incarnation: u128) -> bool {
        self.record.incarnation() == incarnation
            && !self.calls.is_closed()
            && !self.record.state().ended
    }

    /// Ends the session, even if the caller stops waiting for it: the caller may be a call that is
    /// cancelled by the end.
    pub(crate) async fn end(self: &Arc<Self>) {
        // First, so that the end waits for no call that begins now.
        self.refuse_calls();
        if self.ends_at_once() {
            return self.finish().await;
        }
        let session = Arc::clone(self);
        let _ = tokio::spawn(async move { session.finish().await }.in_current_span()).await;
    }

    /// Closes the session, which its store has ended, even if the caller stops waiting for it.
    /// `ended_now` is true if it has ended by this caller's request.
    pub(crate) async fn follow_end(self: &Arc<Self>, ended_now: bool) {
        self.refuse_calls();
        if self.ends_at_once() {
            return self.finish_ended(ended_now).await;
        }
        let session = Arc::clone(self);
        let finish = async move { session.finish_ended(ended_now).await };
        let _ = tokio::spawn(finish.in_current_span()).await;
    }

    /// Returns true if the end of the session has nothing to wait for.
    fn ends_at_once(&self) -> bool {
        let is_idle =
            |session: &Self| session.calls.is_empty() && session.resources.lock().is_none();
        let is_in_memory = !self.record.is_remote() && self.runtime.journal.is_none();
        let others = self.other_generations();
        is_in_memory && is_idle(self) && others.iter().all(|other| is_idle(other))
    }

    async fn finish_ended(&self, ended_now: bool) {
        self.close_all().await;
        // Otherwise the entries are those of a later session under the id, if there is one.
        if ended_now {
            self.forget().await;
        }
    }

    async fn finish(&self) {
        self.close_all().await;
        self.settle().await;
        match self.record.end().await {
            Ok(true) => self.forget().await,
            // The entries are those of a later session under the id, if there is one.
            Ok(false) => {}
            Err(error) => {
                tracing::error!(session = %self.id.as_str().escape_debug(), %error, "failed to end the session in its store");
            }
        }
    }

    /// Charges the amounts that the store has not taken.
    pub(crate) async fn settle(&self) {
        if let Some(payers) = self.used_shared().and_then(|shared| shared.payers.get())
            && let Err(error) = payers.account.settle().await
        {
            tracing::error!(session = %self.id.as_str().escape_debug(), %error, "failed to charge calls");
        }
    }

    /// Removes the session's entries from the journal, unless a later session of this process has
    /// taken its place and its entries. Called once the session has ended by request: an entry has no
    /// incarnation, and those of a session that was idle for too long may be of a later one of
    /// another process.
    pub(crate) async fn forget(&self) {
        let Some(journal) = &self.runtime.journal else {
            return;
        };
        let key = self.journal_key();
        let is_later = |other: &Self| {
            other.record.incarnation() != self.record.incarnation()
                && !other.calls.is_closed()
                && other.journal_key() == key
        };
        let listed = self.runtime.session(self.id.as_str());
        if listed.is_some_and(|listed| is_later(&listed)) {
            return;
        }
        self.runtime.unrecorded.forget_if(&key, |_| true);
        if let Err(error) = within(
            self.policy().store_deadline,
            journal.forget(&key),
            JournalError::timeout,
        )
        .await
        {
            let session = self.id.as_str().escape_debug();
            tracing::error!(%session, %error, "failed to remove a session from the journal");
        }
    }

    /// Refuses new calls in all generations of the session. Returns those that are in use, and none of
    /// a session that was never renewed.
    fn refuse_calls(&self) -> Vec<Arc<Self>> {
        self.calls.close();
        self.used_shared()
            .map(|shared| shared.generations.close(|other| other.calls.close()))
            .unwrap_or_default()
    }

    /// Closes all generations of the session.
    async fn close_all(&self) {
        let generations = self.refuse_calls();
        if generations.is_empty() {
            return self.close().await;
        }
        join_all(generations.iter().map(|generation| generation.close())).await;
    }

    /// Refuses new calls, cancels those in progress, and waits until they are answered.
    async fn close(&self) {
        self.calls.close();
        self.ended.get_or_init(Instant::now);
        self.running.cancel_all();
        self.cancel_reads();
        // A call may ignore its cancellation, or itself wait for this end.
        if !self.calls.is_empty() && timeout(CLOSING, self.calls.finish()).await.is_err() {
            tracing::error!(session = %self.id.as_str().escape_debug(), "a call is still running after its session ended");
        } else {
            // No call uses the resources any more. They are dropped without the lock, as dropping
            // them may take locks.
            let resources = self.resources.lock().take();
            if let Some(resources) = resources {
                drop(resources.brought);
                release(resources.toolsets).await;
            }
        }
        self.unlist();
    }

    /// Removes the session from the runtime's list, unless another is listed under its id.
    fn unlist(&self) {
        let mut sessions = self.runtime.sessions.lock();
        let listed = sessions.get(self.id.as_str());
        if listed.is_some_and(|listed| std::ptr::eq(listed.as_ptr(), self)) {
            sessions.remove(self.id.as_str());
        }
    }
}

/// Returns the key of a session in the journal: its id, or an array of its id, principal and agent
/// where it has them. Two sessions have the same key only if all three are equal.
pub(crate) fn journal_key<'a>(id: &'a str, principal: &str, agent: &str) -> Cow<'a, str> {
    if principal.is_empty() && agent.is_empty() && !id.starts_with('[') {
        return Cow::Borrowed(id);
    }
    Cow::Owned(Value::from([id, principal, agent].as_slice()).to_string())
}

impl Drop for SessionInner {
    fn drop(&mut self) {
        // Under earlier tools the session may still be in use.
        let others = self.other_generations();
        let next = others.iter().rfind(|other| !other.calls.is_closed());
        let mut sessions = self.runtime.sessions.lock();
        if let Some(listed) = sessions.get_mut(self.id.as_str())
            && listed.strong_count() == 0
        {
            match next {
                Some(next) => *listed = Arc::downgrade(next),
                None => _ = sessions.remove(self.id.as_str()),
            }
        }
        // Dropped before the others, as a session that is dropped takes the lock.
        drop(sessions);
    }
}
