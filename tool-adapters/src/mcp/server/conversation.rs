//! The session behind a connection: opened at its first message, ended with it.

use crate::mcp::server::{Client, Shared};
use rmcp::ErrorData;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::OnceCell;
use tokio::time::Instant;
use tool_core::text::hex;
use tool_core::{Mode, Session};

pub(crate) struct Conversation {
    shared: Arc<Shared>,
    opened: OnceCell<Opened>,
    calls: AtomicU64,
    busy: Mutex<Busy>,
    /// Whether the session outlives the connection, because somebody has yet to confirm a call of it.
    handed_on: AtomicBool,
}

struct Opened {
    session: Session,
    principal: Option<String>,
}

/// When a turn ends is only to be guessed: where no call has come for a while.
struct Busy {
    running: usize,
    since: Instant,
}

/// A call that is under way, for as long as it lives.
pub(crate) struct UnderWay<'a>(&'a Conversation);

impl Conversation {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        let busy = Mutex::new(Busy { running: 0, since: Instant::now() });
        Self { shared, opened: OnceCell::new(), calls: AtomicU64::new(0), busy, handed_on: AtomicBool::new(false) }
    }

    fn busy(&self) -> MutexGuard<'_, Busy> {
        self.busy.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The session, which is open from here on. Only whoever opened it may go on in it.
    pub(crate) async fn session(&self, client: Client) -> Result<&Session, ErrorData> {
        let principal = client.principal.clone();
        let opened = self.opened.get_or_try_init(|| open(&self.shared, client)).await?;
        if opened.principal == principal {
            Ok(&opened.session)
        } else {
            Err(ErrorData::invalid_request("this session is somebody else's; open one of your own", None))
        }
    }

    /// The id of another call: the client's own ids are whatever it likes.
    pub(crate) fn call_id(&self) -> String {
        format!("call_{}", self.calls.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// A call begins, after a pause a turn does too.
    pub(crate) async fn begin(&self, session: &Session) -> UnderWay<'_> {
        let rested = {
            let mut busy = self.busy();
            let rested = busy.running == 0 && busy.since.elapsed() >= self.shared.settings.turn_after;
            busy.running += 1;
            rested
        };
        let under_way = UnderWay(self);
        if rested {
            session.next_turn().await;
        }
        under_way
    }

    /// The session goes on without the connection.
    pub(crate) fn hand_on(&self) {
        self.handed_on.store(true, Ordering::Release);
    }

    pub(crate) async fn end(&self) {
        if let Some(opened) = self.opened.get().filter(|_| !self.handed_on.load(Ordering::Acquire)) {
            opened.session.end().await;
        }
    }
}

async fn open(shared: &Shared, client: Client) -> Result<Opened, ErrorData> {
    let id = format!("mcp-{}", fresh()?);
    let mut open = shared.runtime.session(id, Mode::Text);
    if let Some(principal) = &client.principal {
        open = open.principal(principal);
    }
    if let Some(more) = &shared.settings.open {
        open = more(open, &client);
    }
    let session = open.await.map_err(|error| {
        tracing::error!(%error, "an MCP session could not be opened");
        ErrorData::internal_error("no session can be opened at the moment; try again later", None)
    })?;
    Ok(Opened { session, principal: client.principal })
}

/// 128 random bits in hexadecimal.
pub(crate) fn fresh() -> Result<String, ErrorData> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| {
        tracing::error!(%error, "the system gives no random numbers");
        ErrorData::internal_error("An internal error occurred", None)
    })?;
    Ok(hex(&bytes))
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        let mut busy = self.0.busy();
        busy.running = busy.running.saturating_sub(1);
        busy.since = Instant::now();
    }
}

impl Drop for Conversation {
    /// The connection is gone.
    fn drop(&mut self) {
        if *self.handed_on.get_mut() {
            return;
        }
        if let (Some(opened), Ok(runtime)) = (self.opened.take(), tokio::runtime::Handle::try_current()) {
            runtime.spawn(async move { opened.session.end().await });
        }
    }
}
