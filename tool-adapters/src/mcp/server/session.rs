//! The session behind a connection. The first message opens it, and it ends with the connection.

use crate::mcp::server::state::{ClientInfo, ServerState};
use rmcp::ErrorData;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::OnceCell;
use tokio::time::Instant;
use tool_core::text::hex;
use tool_core::{Mode, Session};

pub(crate) struct ClientSession {
    state: Arc<ServerState>,
    opened: OnceCell<OpenedSession>,
    calls: AtomicU64,
    activity: Mutex<Activity>,
    /// True if the session outlives the connection, because a call of it waits for the user.
    detached: AtomicBool,
}

struct OpenedSession {
    session: Session,
    principal: Option<String>,
}

/// The calls under way and the last change of their number, from which the end of a turn is inferred.
struct Activity {
    running: usize,
    since: Instant,
}

/// Counts a call as running until it is dropped.
pub(crate) struct RunningCall<'a>(&'a ClientSession);

impl ClientSession {
    pub(crate) fn new(state: Arc<ServerState>) -> Self {
        let activity = Mutex::new(Activity { running: 0, since: Instant::now() });
        Self { state, opened: OnceCell::new(), calls: AtomicU64::new(0), activity, detached: AtomicBool::new(false) }
    }

    fn activity(&self) -> MutexGuard<'_, Activity> {
        self.activity.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the session, and opens it if it is not open. Refuses a principal other than the one that opened it.
    pub(crate) async fn get(&self, client: ClientInfo) -> Result<&Session, ErrorData> {
        let principal = client.principal.clone();
        let opened = self.opened.get_or_try_init(|| open(&self.state, client)).await?;
        if opened.principal == principal {
            Ok(&opened.session)
        } else {
            Err(ErrorData::invalid_request("this session belongs to another principal; open a new session", None))
        }
    }

    /// Returns a new call id. The client's request ids are not used, as they need not be unique.
    pub(crate) fn next_call_id(&self) -> String {
        format!("call_{}", self.calls.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Counts a call as running, and begins a new turn if the session was idle for long enough.
    pub(crate) async fn begin_call(&self, session: &Session) -> RunningCall<'_> {
        let new_turn = {
            let mut activity = self.activity();
            let was_idle = activity.running == 0 && activity.since.elapsed() >= self.state.settings.turn_after;
            activity.running += 1;
            was_idle
        };
        let running = RunningCall(self);
        if new_turn {
            session.next_turn().await;
        }
        running
    }

    /// Keeps the session open after the connection is gone.
    pub(crate) fn detach(&self) {
        self.detached.store(true, Ordering::Release);
    }

    pub(crate) async fn end(&self) {
        if let Some(opened) = self.opened.get().filter(|_| !self.detached.load(Ordering::Acquire)) {
            opened.session.end().await;
        }
    }
}

async fn open(state: &ServerState, client: ClientInfo) -> Result<OpenedSession, ErrorData> {
    let id = format!("mcp-{}", random_id()?);
    let mut builder = state.runtime.session(id, Mode::Text);
    if let Some(principal) = &client.principal {
        builder = builder.principal(principal);
    }
    if let Some(configure) = &state.settings.configure_session {
        builder = configure(builder, &client);
    }
    let session = builder.await.map_err(|error| {
        tracing::error!(%error, "failed to open an MCP session");
        ErrorData::internal_error("no session can be opened at the moment; try again later", None)
    })?;
    Ok(OpenedSession { session, principal: client.principal })
}

/// Returns 128 random bits in hexadecimal.
pub(crate) fn random_id() -> Result<String, ErrorData> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| {
        tracing::error!(%error, "failed to get random bytes");
        ErrorData::internal_error("An internal error occurred", None)
    })?;
    Ok(hex(&bytes))
}

impl Drop for RunningCall<'_> {
    fn drop(&mut self) {
        let mut activity = self.0.activity();
        activity.running = activity.running.saturating_sub(1);
        activity.since = Instant::now();
    }
}

impl Drop for ClientSession {
    fn drop(&mut self) {
        if *self.detached.get_mut() {
            return;
        }
        if let (Some(opened), Ok(runtime)) = (self.opened.take(), tokio::runtime::Handle::try_current()) {
            runtime.spawn(async move { opened.session.end().await });
        }
    }
}
