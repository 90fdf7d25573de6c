//! What a program does with one agent.

use crate::agents::error::{AgentError, AgentErrorKind};
use crate::agents::loaded::{LoadedAgent, Piece, State};
use crate::agents::record::AgentId;
use crate::agents::{Shared, load, record};
use crate::arguments::problem::nearest;
use crate::call::error::ErrorKind;
use crate::call::mode::Mode;
use crate::call::response::ToolResponse;
use crate::call::tool_call::{Arguments, ToolCall};
use crate::registry::ToolContext;
use crate::session::approvals::{Signer, fresh_id};
use crate::session::builder::SessionBuilder;
use crate::session::runtime::Runtime;
use crate::session::session::{Session, SessionId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use tokio::time::Instant;

/// One agent, whose tools are made of its records. Cheap to make and to clone.
#[derive(Clone)]
pub struct AgentExecutor {
    pub(crate) shared: Arc<Shared>,
    pub(crate) agent: Arc<str>,
}

impl AgentExecutor {
    /// The agent's id.
    pub fn agent(&self) -> &str {
        &self.agent
    }

    /// The agent as its records are now. Toolsets that have not changed since the last time are the same ones; those that
    /// fail are left out and told in [`LoadedAgent::failures`].
    ///
    /// An error is about the agent as a whole: its store is down, say. What was loaded before works on, and is there
    /// again when the store is.
    pub async fn load(&self) -> Result<Arc<LoadedAgent>, AgentError> {
        if !record::is_id(&self.agent) {
            return Err(AgentError::new(&self.agent, "", AgentErrorKind::InvalidId));
        }
        load::load(&self.shared, &self.agent).await
    }

    /// The agent's tools as its records are now.
    pub async fn tools(&self) -> Result<ToolContext, AgentError> {
        Ok(self.load().await?.tools().clone())
    }

    /// Opens a session with the agent's tools of this moment, which it keeps. Say for whom it speaks and what else its
    /// tools need, and then await it. R-I4
    pub async fn session(&self, id: impl Into<SessionId>, mode: Mode) -> Result<SessionBuilder, AgentError> {
        let id = id.into();
        let loaded = self.load().await?;
        Ok(self.open(id, mode, &loaded))
    }

    pub(crate) fn open(&self, id: SessionId, mode: Mode, loaded: &LoadedAgent) -> SessionBuilder {
        let open = self.shared.runtime.session(id, mode).tools(loaded.tools().clone());
        let open = open.user_data(AgentId::new(Arc::clone(&self.agent)));
        match &self.shared.each_session {
            Some(change) => change(open),
            None => open,
        }
    }

    /// Runs one action of one of the agent's toolsets, as its records are now: for a user interface, a schedule, a
    /// webhook. It is governed as a model's call is, in a session of its own that ends with it.
    ///
    /// The answer is `CONFIRMATION_REQUIRED` where the action wants a person's word:
    /// [`approve`](Self::approve) or [`deny`](Self::deny) with its token then, for as long as it lives.
    ///
    /// An error says that nothing was run: the toolset is not configured for the agent, disabled, not registered, has no
    /// such action, or has failed. A7
    pub async fn run_tool_action(
        &self,
        tool: &str,
        action: &str,
        arguments: impl Into<Arguments<'_>>,
    ) -> Result<ToolResponse, AgentError> {
        let call = ToolCall::new(fresh_id(), action, arguments);
        run(self, tool, call).await
    }

    /// Runs the call that [`run_tool_action`](Self::run_tool_action) was asked to confirm, with the tools that it was
    /// asked with. `NOT_FOUND` where nothing waits under the token: it was used, has expired, or is another agent's.
    pub async fn approve(&self, token: &str) -> ToolResponse {
        decide(self, token, true).await
    }

    /// Answers it without running it: `DENIED`.
    pub async fn deny(&self, token: &str) -> ToolResponse {
        decide(self, token, false).await
    }

    /// What governs the agent's sessions.
    pub fn runtime(&self) -> &Runtime {
        &self.shared.runtime
    }
}

impl std::fmt::Debug for AgentExecutor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentExecutor").field("agent", &self.agent).finish_non_exhaustive()
    }
}

// ---- One action of one toolset, in a session of its own. A7

/// The sessions of calls that wait for a person's word, by the id in their token. One whose call is being decided on is
/// not among them, so that nobody ends it under the call: not another word, not the timer, not [`clear`](Self::clear).
#[derive(Default)]
pub(crate) struct Waiting(Mutex<HashMap<String, Waits>>);

#[derive(Clone)]
struct Waits {
    agent: Arc<str>,
    session: Session,
    /// When the token expires.
    until: Instant,
    /// Ends the session then.
    timer: Option<AbortHandle>,
}

pub(crate) async fn run(executor: &AgentExecutor, tool: &str, call: ToolCall) -> Result<ToolResponse, AgentError> {
    let loaded = executor.load().await?;
    let error = |kind| AgentError::new(&executor.agent, tool, kind);
    let mode = find(&loaded, tool, call.name()).map_err(error)?;
    let open = executor.open(format!("action-{}", fresh_id()).into(), mode, &loaded);
    let session = open.await.map_err(|why| error(AgentErrorKind::NoSession(why)))?;
    let ending = Ending { session, done: false };
    let response = ending.session.call(call).await;
    let asked = response.error().is_some_and(|error| error.kind == ErrorKind::ConfirmationRequired);
    match response.meta().confirmation().filter(|_| asked) {
        Some(confirmation) => keep(executor, &confirmation.token, ending),
        None => ending.end().await,
    }
    Ok(response)
}

/// In which mode a session has the action, or why the agent does not have it.
fn find(loaded: &LoadedAgent, tool: &str, action: &str) -> Result<Mode, AgentErrorKind> {
    let piece = loaded.piece(tool).ok_or(AgentErrorKind::NotConfigured)?;
    let live = match &piece.state {
        State::Live(live) => live,
        State::Disabled => return Err(AgentErrorKind::Disabled),
        State::Failed(kind) => return Err(kind.clone()),
    };
    if !live.actions.iter().any(|known| known == action) {
        // It may be one of a toolset within this one.
        return Err(live.failures.first().cloned().unwrap_or_else(|| unknown(piece, &live.actions, action)));
    }
    if piece.disabled_actions.contains(action) {
        return Err(AgentErrorKind::ActionDisabled { action: action.to_owned() });
    }
    let modes = loaded.tools.function_tool(action).map(|tool| tool.definition().modes());
    Ok(if modes.is_none_or(|modes| modes.contains(Mode::Text)) { Mode::Text } else { Mode::Voice })
}

fn unknown(piece: &Piece, actions: &[String], action: &str) -> AgentErrorKind {
    let offered = actions.iter().filter(|known| !piece.disabled_actions.contains(*known));
    let nearest = nearest(action, offered.map(String::as_str)).map(str::to_owned);
    AgentErrorKind::UnknownAction { action: action.to_owned(), nearest }
}

/// A session that ends, also where nobody waits for it any more.
struct Ending {
    session: Session,
    /// Whether it has ended, or others see to it.
    done: bool,
}

impl Ending {
    async fn end(mut self) {
        self.session.end().await;
        self.done = true;
    }

    fn kept(mut self) -> Session {
        self.done = true;
        self.session.clone()
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        if let (false, Ok(runtime)) = (self.done, Handle::try_current()) {
            let session = self.session.clone();
            runtime.spawn(async move { session.end().await });
        }
    }
}

/// Keeps a session until somebody has decided, or the token has expired.
fn keep(executor: &AgentExecutor, token: &str, ending: Ending) {
    let Some(id) = Signer::id_of(token) else { return };
    let session = ending.kept();
    let now = Instant::now();
    let until = now.checked_add(session.policy().confirmation).unwrap_or(now);
    Waiting::put(&executor.shared, id, Waits { agent: Arc::clone(&executor.agent), session, until, timer: None });
}

/// Approves or denies. Of all who do so at once with the right token, one does.
pub(crate) async fn decide(executor: &AgentExecutor, token: &str, yes: bool) -> ToolResponse {
    let waiting = &executor.shared.waiting;
    let Some((id, session)) = Signer::id_of(token).and_then(|id| Some((id, waiting.find(&executor.agent, id)?))) else {
        return Session::nothing_waits();
    };
    // A token that is not the right one leaves the call where it is, for the right one that comes at the same time.
    if let Err(answer) = session.awaits(token).await {
        return answer;
    }
    let Some(waits) = waiting.take(id) else { return Session::nothing_waits() };
    let deciding = Deciding { shared: Arc::clone(&executor.shared), id: id.to_owned(), waits: Some(waits) };
    let response = if yes { session.approve(token).await } else { session.deny(token).await };
    deciding.end().await;
    response
}

/// A call that somebody decides on. It ends then, or waits on where nothing came of it, also where nobody waits for the
/// decision any more.
struct Deciding {
    shared: Arc<Shared>,
    id: String,
    /// Nothing once that is seen to.
    waits: Option<Waits>,
}

impl Deciding {
    async fn end(mut self) {
        if let Some(waits) = self.waits.clone() {
            decided(&self.shared, &self.id, waits).await;
        }
        self.waits = None;
    }
}

impl Drop for Deciding {
    fn drop(&mut self) {
        if let (Some(waits), Ok(runtime)) = (self.waits.take(), Handle::try_current()) {
            let (shared, id) = (Arc::clone(&self.shared), std::mem::take(&mut self.id));
            runtime.spawn(async move { decided(&shared, &id, waits).await });
        }
    }
}

async fn decided(shared: &Arc<Shared>, id: &str, waits: Waits) {
    if waits.session.waits(id).await {
        Waiting::put(shared, id, waits);
    } else {
        waits.session.end().await;
    }
}

impl Waiting {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Waits>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has it wait until its token expires.
    fn put(shared: &Arc<Shared>, id: &str, mut waits: Waits) {
        let (until, expired, weak) = (waits.until, id.to_owned(), Arc::downgrade(shared));
        let mut waiting = shared.waiting.lock();
        let timer = tokio::spawn(async move {
            tokio::time::sleep_until(until).await;
            let late = weak.upgrade().and_then(|shared| shared.waiting.lock().remove(&expired));
            if let Some(Waits { session, .. }) = late {
                session.end().await;
            }
        });
        waits.timer = Some(timer.abort_handle());
        waiting.insert(id.to_owned(), waits);
    }

    fn find(&self, agent: &str, id: &str) -> Option<Session> {
        self.lock().get(id).filter(|waits| *waits.agent == *agent).map(|waits| waits.session.clone())
    }

    /// Takes it out: whoever has it decides on it, and it does not expire under them.
    fn take(&self, id: &str) -> Option<Waits> {
        let mut waits = self.lock().remove(id)?;
        if let Some(timer) = waits.timer.take() {
            timer.abort();
        }
        Some(waits)
    }

    /// Ends all of them.
    pub(crate) async fn clear(&self) {
        let all = std::mem::take(&mut *self.lock());
        for Waits { session, timer, .. } in all.into_values() {
            if let Some(timer) = timer {
                timer.abort();
            }
            session.end().await;
        }
    }
}
