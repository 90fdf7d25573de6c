//! One action of one toolset, in a session of its own. A7

use super::executor::AgentExecutor;
use super::loaded::{LoadedAgent, Piece, State};
use super::{AgentError, AgentErrorKind, Shared};
use crate::arguments::nearest;
use crate::call::ToolCall;
use crate::response::{ErrorKind, ToolResponse};
use crate::runtime::{Session, Signer, fresh_id};
use crate::tool::Mode;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use tokio::time::Instant;

/// The sessions of calls that wait for a person's word, by the id in their token. One whose call is being decided on is
/// not among them, so that nobody ends it under the call: not another word, not the timer, not [`clear`](Self::clear).
#[derive(Default)]
pub(super) struct Waiting(Mutex<HashMap<String, Waits>>);

#[derive(Clone)]
struct Waits {
    agent: Arc<str>,
    session: Session,
    /// When the token expires.
    until: Instant,
    /// Ends the session then.
    timer: Option<AbortHandle>,
}

pub(super) async fn run(executor: &AgentExecutor, tool: &str, call: ToolCall) -> Result<ToolResponse, AgentError> {
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
pub(super) async fn decide(executor: &AgentExecutor, token: &str, yes: bool) -> ToolResponse {
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
    pub(super) async fn clear(&self) {
        let all = std::mem::take(&mut *self.lock());
        for Waits { session, timer, .. } in all.into_values() {
            if let Some(timer) = timer {
                timer.abort();
            }
            session.end().await;
        }
    }
}
