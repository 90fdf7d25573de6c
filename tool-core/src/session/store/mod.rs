//! Where sessions are kept: what a store has to do, in operations, so that limits hold across processes.

pub(crate) mod admission;
pub(crate) mod memory;
pub(crate) mod turn_usage;

use crate::call::mode::Mode;
use crate::registry::errors::RegistryErrors;
use crate::session::approvals::PendingCall;
use crate::session::session::SessionId;
use crate::session::state::{AuditEntry, SessionState, StateChange};
use crate::session::store::admission::{Admission, Settlement, Verdict};
use crate::trace::redaction::Redaction;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::timeout;

/// Keeps sessions. In memory unless told; `tool-adapters` has one over Redis.
///
/// What is decided, is decided by the store: that exactly `k` of many racing calls pass a limit of `k`, that a token is
/// taken once. A store keeps its own time, so that no two clocks have to agree.
pub trait SessionStore: Send + Sync + 'static {
    /// Opens a session, or joins one that is open already, here or in another process.
    fn open<'a>(&'a self, opening: &'a OpenRequest) -> Operation<'a, Result<Arc<dyn SessionRecord>, OpenError>>;

    /// How many sessions are open.
    fn sessions(&self) -> Operation<'_, Result<u64, StoreError>>;
}

/// One open session in a store.
///
/// Once the session has ended or expired, [`admit`](Self::admit) gives [`Verdict::Inactive`] and nothing changes any more;
/// only the audit log still takes what calls bring that were running.
pub trait SessionRecord: Send + Sync + 'static {
    /// Counts an attempt, holds it against the limits, and charges it, in one step.
    fn admit<'a>(&'a self, call: &'a Admission<'a>) -> Operation<'a, Result<Verdict, StoreError>>;

    /// Records what came of a call, in one step. Called only where there is something to record.
    fn settle<'a>(&'a self, settlement: &'a Settlement<'a>) -> Operation<'a, Result<(), StoreError>>;

    /// Ends the turn: counters begin anew. Gives the number of the turn that begins; `None` where the session is over.
    fn next_turn(&self) -> Operation<'_, Result<Option<u64>, StoreError>>;

    /// Keeps a call until a person has decided on it, or until `lifetime` is over.
    fn mint<'a>(&'a self, pending: &'a PendingCall, lifetime: Duration) -> Operation<'a, Result<(), StoreError>>;

    /// The call that waits under this id, left where it is.
    fn pending<'a>(&'a self, id: &'a str) -> Operation<'a, Result<Option<PendingCall>, StoreError>>;

    /// Takes the call from under this id. True for exactly one of all who ask.
    fn consume<'a>(&'a self, id: &'a str) -> Operation<'a, Result<bool, StoreError>>;

    /// Changes the state for the host.
    fn change<'a>(&'a self, changes: &'a [StateChange]) -> Operation<'a, Result<(), StoreError>>;

    /// Ends the session. Ending it again does nothing.
    fn end(&self) -> Operation<'_, Result<(), StoreError>>;

    /// Reads again what other processes may have changed.
    fn refresh(&self) -> Operation<'_, Result<(), StoreError>>;

    /// The number of the turn, as it is known here.
    fn turn(&self) -> u64;

    /// The state, as it is known here.
    fn state(&self) -> Arc<SessionState>;

    /// The audit log, oldest first, as it is known here: at most the last 1,000 entries.
    fn audit(&self) -> Vec<AuditEntry>;
}

/// What a session is opened with.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OpenRequest {
    /// The session's id.
    pub id: SessionId,
    /// How the conversation is held. A session keeps its mode.
    pub mode: Mode,
    /// The version of the tools, as the manifest counts it.
    pub version: Arc<str>,
    /// A session that nobody uses for this long is over.
    pub idle: Duration,
    /// At this many open sessions no more are opened.
    pub max_sessions: u64,
    /// The turns of which the session keeps the history.
    pub history: usize,
}

/// Why a session did not open.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpenError {
    /// As many sessions are open as there may be.
    Full {
        /// How many.
        limit: u64,
    },
    /// The session is open in the other mode.
    OtherMode {
        /// The session's id.
        id: SessionId,
        /// The mode in which it is open.
        open: Mode,
    },
    /// The session is open here for somebody else.
    OtherPrincipal {
        /// The session's id.
        id: SessionId,
    },
    /// The session is open here with the tools of another agent.
    OtherAgent {
        /// The session's id.
        id: SessionId,
    },
    /// The tools that it was to have are at odds with those that the runtime adds.
    Tools(RegistryErrors),
    /// An id that is empty, or longer than 512 bytes.
    InvalidId,
    /// The store failed.
    Store(StoreError),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full { limit } => {
                write!(f, "{limit} sessions are open, which is the limit; end some, or raise `Policy::max_sessions`")
            }
            Self::OtherMode { id, open } => write!(
                f,
                "session `{}` is open in {} mode; end it first, or open another under an id of its own",
                id.as_str().escape_debug(),
                open.as_str()
            ),
            Self::OtherPrincipal { id } => {
                let id = id.as_str().escape_debug();
                write!(f, "session `{id}` is open for another principal; give each conversation an id of its own")
            }
            Self::OtherAgent { id } => {
                let id = id.as_str().escape_debug();
                write!(f, "session `{id}` is open for another agent; give each conversation an id of its own")
            }
            Self::Tools(errors) => write!(f, "the session's tools do not fit: {errors}"),
            Self::InvalidId => f.write_str("a session id has 1 to 512 bytes; give each conversation one of its own"),
            Self::Store(error) => fmt::Display::fmt(error, f),
        }
    }
}

impl std::error::Error for OpenError {}

impl From<StoreError> for OpenError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// A store that cannot be reached, or does not understand. The text goes to the log, never to the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreError(String);

impl StoreError {
    /// An error with what happened, and no secrets.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    /// No answer came in time.
    pub(crate) fn late() -> Self {
        Self::new("no answer within the store's deadline")
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the session store failed: {}", Redaction::new().text(&self.0))
    }
}

impl std::error::Error for StoreError {}

// ---- What an operation of a store gives: its result at once, or later.

/// A store's answer: there already, or on its way.
///
/// A store in memory answers at once, and a call that it serves waits for nothing; one across a network answers later.
/// A [`Later`](Self::Later) that is never polled must have done nothing.
#[must_use = "an operation does nothing unless it is awaited"]
pub enum Operation<'a, T> {
    /// It is done.
    Ready(T),
    /// It is done when this is.
    Later(Pin<Box<dyn Future<Output = T> + Send + 'a>>),
}

impl<'a, T> Operation<'a, T> {
    /// An operation that a future does.
    pub fn later(future: impl Future<Output = T> + Send + 'a) -> Self {
        Self::Later(Box::pin(future))
    }
}

impl<T, E: From<StoreError>> Operation<'_, Result<T, E>> {
    /// Waits for it, but not for longer than this.
    #[inline]
    pub(crate) async fn within(self, deadline: Duration) -> Result<T, E> {
        match self {
            Self::Ready(done) => done,
            Self::Later(later) => timeout(deadline, later).await.unwrap_or_else(|_| Err(StoreError::late().into())),
        }
    }
}

impl<'a, T: Unpin> IntoFuture for Operation<'a, T> {
    type Output = T;
    type IntoFuture = Awaited<'a, T>;

    #[inline]
    fn into_future(self) -> Awaited<'a, T> {
        Awaited(Some(self))
    }
}

/// An [`Operation`] that is being awaited.
pub struct Awaited<'a, T>(Option<Operation<'a, T>>);

impl<T: Unpin> Future for Awaited<'_, T> {
    type Output = T;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        match self.0.take() {
            Some(Operation::Ready(value)) => Poll::Ready(value),
            Some(Operation::Later(mut future)) => {
                let polled = future.as_mut().poll(cx);
                if polled.is_pending() {
                    self.0 = Some(Operation::Later(future));
                }
                polled
            }
            // Polled after it was done, which no executor does.
            None => Poll::Pending,
        }
    }
}
