//! What stands behind the handles of one session.

use super::drain::Drain;
use super::playout::Playout;
use super::running::Running;
use super::slots::Slots;
use super::updates::{Sink, Updates};
use crate::call::ToolCall;
use crate::context::Kept;
use crate::response::ToolResponse;
use crate::run::{RunContext, Scope};
use crate::runtime::handle::Shared;
use crate::runtime::journal::Recovered;
use crate::runtime::metrics::Measured;
use crate::runtime::pipeline::{self, How, Reuse};
use crate::runtime::policy::Policy;
use crate::runtime::session_id::SessionId;
use crate::runtime::store::{Operation, SessionRecord, StoreError};
use crate::runtime::toolbox::Toolbox;
use crate::tool::Mode;
use std::future::IntoFuture;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use tokio::sync::RwLock;
use tokio::time::timeout;
use tracing::Instrument;

// In this order, so that what every call reads stands in one place: of very many sessions most are in no cache.
#[repr(C, align(128))]
pub(crate) struct Core {
    pub(crate) drain: Drain,
    /// Of the calls that may run at once.
    pub(crate) slots: Slots,
    pub(crate) record: Arc<dyn SessionRecord>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) toolbox: Arc<Toolbox>,
    pub(crate) mode: Mode,
    /// Where the transport that came last takes updates.
    pub(crate) sink: OnceLock<Box<Mutex<Arc<Sink>>>>,
    pub(crate) running: Running,
    /// One that no other session has, even one of the same text.
    pub(crate) id: SessionId,
    pub(crate) principal: Box<str>,
    /// What every call's context is made of.
    pub(crate) base: RunContext,
    /// Held for reading by calls, for writing by those of `sequential` tools.
    pub(crate) barrier: RwLock<()>,
    pub(crate) measured: Measured,
    pub(crate) updates: Updates,
    pub(crate) playout: Playout,
    /// What earlier processes wrote down.
    pub(crate) recovered: Mutex<Vec<Recovered>>,
    /// The ids of calls that are written down and have not ended.
    pub(crate) journaled: Mutex<Vec<Arc<str>>>,
    pub(crate) reuse: Reuse,
    /// What its tools need for as long as they may be called.
    pub(crate) kept: Mutex<Option<Kept>>,
}

/// How long the end of a session waits for its calls, all of which it has cancelled.
const CLOSING: Duration = Duration::from_secs(5);

impl Core {
    #[inline]
    pub(crate) fn policy(&self) -> &Policy {
        self.shared.policy(self.mode)
    }

    /// Makes a call, through the host's layers where there are any.
    #[inline]
    pub(crate) async fn call(self: &Arc<Self>, call: ToolCall) -> ToolResponse {
        match &self.shared.stack {
            None => self.run(call).await,
            // The runtime's own tools must not wait for the calls that they are there to cancel.
            Some(_) if self.toolbox.is_own(call.name()) => Box::pin(self.run(call)).await,
            Some(stack) => Box::pin(stack.call(call.in_session(self.id.shared()))).await,
        }
    }

    /// Makes a call.
    #[inline]
    pub(crate) async fn run(self: &Arc<Self>, call: ToolCall) -> ToolResponse {
        match self.sink.get().filter(|_| call.heard().is_none()) {
            None => {
                let how = How::of(&call);
                pipeline::run(self, call, how).await
            }
            Some(sink) => {
                let sink = Arc::clone(&sink.lock().unwrap_or_else(PoisonError::into_inner));
                Box::pin(super::updates::call(self, &sink, call)).await
            }
        }
    }

    /// A transport shows the updates from here on.
    pub(super) fn shown_by(&self, sink: Arc<Sink>) {
        let mine = self.sink.get_or_init(|| Box::new(Mutex::new(Arc::clone(&sink))));
        *mine.lock().unwrap_or_else(PoisonError::into_inner) = sink;
    }

    /// Waits for the store, but not for long.
    pub(crate) async fn store<T: Unpin>(
        &self,
        operation: Operation<'_, Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        operation.within(self.policy().store_deadline).await
    }

    /// Ends the session, whoever stops waiting for it: a call that is cancelled by it, or a hook that is given up.
    pub(crate) async fn end(self: &Arc<Self>) {
        if self.drain.is_idle() {
            return self.finish().await;
        }
        let core = Arc::clone(self);
        let _ = tokio::spawn(async move { core.finish().await }.in_current_span()).await;
    }

    async fn finish(&self) {
        self.close().await;
        if let Err(error) = self.store(self.record.end()).await {
            tracing::error!(session = %self.id.as_str().escape_debug(), %error, "the session did not end in its store");
        }
        self.forget().await;
    }

    /// Lets the journal forget the session, which is over.
    pub(crate) async fn forget(&self) {
        let Some(journal) = &self.shared.journal else { return };
        let session = self.id.as_str();
        match timeout(self.policy().store_deadline, journal.forget(session).into_future()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::error!(session = %session.escape_debug(), %error, "the journal keeps an ended session");
            }
            Err(_) => tracing::error!(session = %session.escape_debug(), "the journal does not answer"),
        }
    }

    /// A context for predicates, which sees the session as it is now.
    pub(crate) fn now(&self) -> RunContext {
        let scope = Scope { turn: self.record.turn(), ..Scope::default() };
        self.base.with_fresh(Arc::new(scope))
    }

    /// Lets no more calls in, cancels those that run, and waits until they are answered.
    pub(crate) async fn close(&self) {
        self.drain.close();
        self.measured.ended();
        self.running.cancel_all();
        // A call that nothing ends, or that itself waits for this end, is not waited for.
        if !self.drain.is_idle() && timeout(CLOSING, self.drain.idle()).await.is_err() {
            tracing::error!(session = %self.id.as_str().escape_debug(), "a call goes on after its session's end");
        } else {
            // Nobody calls them any more, whoever still has a handle. What goes with it may ask for locks.
            let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner).take();
            drop(kept);
        }
        let mut live = self.shared.live();
        if live.get(self.id.as_str()).is_some_and(|known| std::ptr::eq(known.as_ptr(), self)) {
            live.remove(self.id.as_str());
        }
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        let mut live = self.shared.live();
        if live.get(self.id.as_str()).is_some_and(|known| known.strong_count() == 0) {
            live.remove(self.id.as_str());
        }
    }
}
