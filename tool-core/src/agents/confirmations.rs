//! Actions that wait for a person's approval.

use crate::call::response::ToolResponse;
use crate::session::approvals::Signer;
use crate::session::handle::Session;
use crate::session::pipeline::confirm::{no_pending_call, pending_call, response_without_call};
use crate::time;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

/// The sessions of actions that wait for a person's decision, by the id in their token.
///
/// An action that is being decided on is not in the map: another decision, the timer and [`clear`](Self::clear) must not
/// end its session meanwhile.
#[derive(Default)]
pub(crate) struct PendingActions(Mutex<HashMap<String, PendingAction>>);

struct PendingAction {
    agent: Arc<str>,
    session: Session,
    /// When the token expires.
    expires_at: Instant,
    /// Ends the session then.
    timer: AbortOnDropHandle<()>,
}

impl PendingActions {
    /// Keeps the session of an action that waits for approval, until its token expires.
    pub(crate) fn add(self: &Arc<Self>, agent: &Arc<str>, session: Session, id: &str) {
        let now = Instant::now();
        let expires_at = time::after(now, session.policy().confirmation_lifetime);
        self.insert(Arc::clone(agent), session, id, expires_at);
    }

    fn insert(self: &Arc<Self>, agent: Arc<str>, session: Session, id: &str, expires_at: Instant) {
        let (pending, expired) = (Arc::downgrade(self), id.to_owned());
        // Locked until the action is in the map, so that the timer finds it.
        let mut all = self.0.lock();
        let timer = tokio::spawn(async move {
            tokio::time::sleep_until(expires_at).await;
            let action = pending.upgrade().and_then(|pending| pending.0.lock().remove(&expired));
            if let Some(PendingAction { session, timer, .. }) = action {
                drop(timer.detach());
                session.end().await;
            }
        });
        let timer = AbortOnDropHandle::new(timer);
        all.insert(id.to_owned(), PendingAction { agent, session, expires_at, timer });
    }

    /// Approves or denies an action. Of several callers with the right token, one gets its answer.
    pub(crate) async fn decide(self: &Arc<Self>, agent: &str, token: &str, approve: bool) -> ToolResponse {
        let missing = || response_without_call(no_pending_call());
        let Some(id) = Signer::id_of(token) else { return missing() };
        let session =
            self.0.lock().get(id).filter(|action| *action.agent == *agent).map(|action| action.session.clone());
        let Some(session) = session else { return missing() };
        // A wrong token leaves the action in the map, where the right token finds it.
        if let Err(error) = pending_call(&session.0, token).await {
            return response_without_call(error);
        }
        let Some(action) = self.0.lock().remove(id) else { return missing() };
        let (deciding, settling) = run_after_drop(Arc::clone(self).settle(id.to_owned(), action));
        let response = if approve { session.approve(token).await } else { session.deny(token).await };
        drop(deciding);
        _ = settling.await;
        response
    }

    /// Ends the session after a decision, or keeps it if the decision did not take effect.
    async fn settle(self: Arc<Self>, id: String, action: PendingAction) {
        let PendingAction { agent, session, expires_at, .. } = action;
        // If the store does not answer, the call may still wait.
        if session.0.record.pending(&id).await.map_or(true, |pending| pending.is_some()) {
            self.insert(agent, session, &id, expires_at);
        } else {
            session.end().await;
        }
    }

    /// Ends all sessions.
    pub(crate) async fn clear(&self) {
        let all = std::mem::take(&mut *self.0.lock());
        for PendingAction { session, .. } in all.into_values() {
            session.end().await;
        }
    }
}

/// Spawns work that begins when the returned handle is dropped, also with a future that is cancelled. A message through the
/// handle calls the work off.
pub(crate) fn run_after_drop(work: impl Future<Output = ()> + Send + 'static) -> (oneshot::Sender<()>, JoinHandle<()>) {
    let (handle, dropped) = oneshot::channel();
    let task = tokio::spawn(async move {
        if dropped.await.is_err() {
            work.await;
        }
    });
    (handle, task)
}
