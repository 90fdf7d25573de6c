//! One action of one toolset, in a session of its own. A7

use super::executor::AgentExecutor;
use super::loaded::{LoadedAgent, Piece, State};
use super::{AgentError, AgentErrorKind};
use crate::arguments::nearest;
use crate::call::ToolCall;
use crate::response::{ErrorKind, ToolResponse};
use crate::runtime::{Session, Signer, fresh_id};
use crate::tool::Mode;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::runtime::Handle;
use tokio::task::AbortHandle;

/// The sessions of calls that wait for a person's word, by the id in their token.
#[derive(Default)]
pub(super) struct Waiting(Mutex<HashMap<String, Waits>>);

struct Waits {
    agent: Arc<str>,
    session: Session,
    /// Ends the session when the token expires.
    timer: AbortHandle,
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
        Some(confirmation) => executor.shared.waiting.keep(executor, &confirmation.token, ending),
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

/// Approves or denies.
pub(super) async fn decide(executor: &AgentExecutor, token: &str, yes: bool) -> ToolResponse {
    let waiting = &executor.shared.waiting;
    let Some((id, session)) = Signer::id_of(token).and_then(|id| Some((id, waiting.find(&executor.agent, id)?))) else {
        return Session::nothing_waits();
    };
    let response = if yes { session.approve(token).await } else { session.deny(token).await };
    // A token that is not the right one leaves the call where it is.
    if !session.waits(id).await {
        waiting.remove(id);
        session.end().await;
    }
    response
}

impl Waiting {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Waits>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a session until somebody has decided, or the token has expired.
    fn keep(&self, executor: &AgentExecutor, token: &str, ending: Ending) {
        let Some(id) = Signer::id_of(token) else { return };
        let session = ending.kept();
        let (shared, expired) = (Arc::downgrade(&executor.shared), id.to_owned());
        let lifetime = session.policy().confirmation;
        let mut waiting = self.lock();
        let timer = tokio::spawn(async move {
            tokio::time::sleep(lifetime).await;
            let late = shared.upgrade().and_then(|shared| shared.waiting.lock().remove(&expired));
            if let Some(Waits { session, .. }) = late {
                session.end().await;
            }
        });
        let waits = Waits { agent: Arc::clone(&executor.agent), session, timer: timer.abort_handle() };
        waiting.insert(id.to_owned(), waits);
    }

    fn find(&self, agent: &str, id: &str) -> Option<Session> {
        self.lock().get(id).filter(|waits| *waits.agent == *agent).map(|waits| waits.session.clone())
    }

    fn remove(&self, id: &str) {
        if let Some(waits) = self.lock().remove(id) {
            waits.timer.abort();
        }
    }

    /// Ends all of them.
    pub(super) async fn clear(&self) {
        let all = std::mem::take(&mut *self.lock());
        for Waits { session, timer, .. } in all.into_values() {
            timer.abort();
            session.end().await;
        }
    }
}
