//! The sessions of clients that open none: from revision 2026-07-28 on a request belongs to no session of the protocol.
//!
//! Without a session that outlives the request, every request would begin with full budgets and an empty history. So all
//! requests of one client share a session.

use crate::mcp::server::client::{Client, SessionLimit, SessionSlot};
use crate::mcp::server::session::{ClientSession, McpResult, ServerState};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::time::Instant;

/// A session for each client, until it is idle for [`Server::idle_timeout`](super::Server::idle_timeout).
#[derive(Default)]
pub(crate) struct SharedSessions(Mutex<HashMap<Client, SharedSession>>);

struct SharedSession {
    session: Arc<ClientSession>,
    used: Instant,
    _slot: SessionSlot,
}

impl SharedSessions {
    fn lock(&self) -> MutexGuard<'_, HashMap<Client, SharedSession>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the session of a client. Fails if it has none and no further session may be opened.
    pub(crate) fn get(&self, client: &Client, state: &Arc<ServerState>) -> McpResult<Arc<ClientSession>> {
        let (now, mut expired) = (Instant::now(), Vec::new());
        let mut sessions = self.lock();
        if let Some(shared) = sessions.get_mut(client) {
            if !shared.session.has_ended() {
                shared.used = now;
                return Ok(Arc::clone(&shared.session));
            }
            expired.extend(sessions.remove(client));
        }
        let idle_timeout = state.settings.idle_timeout;
        let is_idle = |shared: &SharedSession| {
            now.duration_since(shared.used) >= idle_timeout && Arc::strong_count(&shared.session) == 1
        };
        expired.extend(sessions.extract_if(|_, shared| is_idle(shared)).map(|(_, shared)| shared));
        // The sessions end and their places are free once they are dropped.
        drop(expired);
        let slot = state.open.acquire(client, state.settings.max_sessions).map_err(SessionLimit::error)?;
        let session = Arc::new(ClientSession::new(Arc::clone(state), client.session_id()));
        sessions.insert(client.clone(), SharedSession { session: Arc::clone(&session), used: now, _slot: slot });
        Ok(session)
    }

    /// Removes the session of a client that has ended, so that the next request opens another.
    pub(crate) fn remove(&self, client: &Client, ended: &Arc<ClientSession>) {
        let mut sessions = self.lock();
        if sessions.get(client).is_some_and(|shared| Arc::ptr_eq(&shared.session, ended)) {
            sessions.remove(client);
        }
    }
}
