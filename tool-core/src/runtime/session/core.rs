//! What stands behind the handles of one session.

use super::drain::Drain;
use super::playout::Playout;
use super::running::Running;
use super::updates::{Sink, Updates};
use crate::call::ToolCall;
use crate::response::ToolResponse;
use crate::run::RunContext;
use crate::runtime::handle::Shared;
use crate::runtime::journal::Recovered;
use crate::runtime::pipeline::{self, How, Reuse};
use crate::runtime::policy::Policy;
use crate::runtime::session_id::SessionId;
use crate::runtime::store::{Operation, SessionRecord, StoreError};
use crate::runtime::toolbox::Toolbox;
use crate::tool::Mode;
use std::sync::Arc;
use tokio::sync::{RwLock, Semaphore};
use tokio::time::timeout;

pub(crate) struct Core {
    pub(crate) shared: Arc<Shared>,
    pub(crate) toolbox: Arc<Toolbox>,
    pub(crate) id: SessionId,
    pub(crate) mode: Mode,
    pub(crate) principal: Box<str>,
    pub(crate) record: Arc<dyn SessionRecord>,
    /// What every call's context is made of.
    pub(crate) base: RunContext,
    pub(crate) running: Running,
    pub(crate) drain: Drain,
    /// Of the calls that may run at once.
    pub(crate) permits: Semaphore,
    /// Held for reading by calls, for writing by those of `sequential` tools.
    pub(crate) barrier: RwLock<()>,
    pub(crate) sink: Option<Arc<Sink>>,
    pub(crate) updates: Updates,
    pub(crate) playout: Playout,
    /// What earlier processes wrote down.
    pub(crate) recovered: Vec<Recovered>,
    pub(crate) reuse: Reuse,
}

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
            Some(stack) => Box::pin(stack.call(call.in_session(self.id.shared()))).await,
        }
    }

    /// Makes a call.
    #[inline]
    pub(crate) async fn run(self: &Arc<Self>, call: ToolCall) -> ToolResponse {
        match &self.sink {
            None => pipeline::run(self, call, How::default()).await,
            Some(sink) => Box::pin(super::updates::call(self, sink, call)).await,
        }
    }

    /// Waits for the store, but not for long.
    pub(crate) async fn store<T: Unpin>(
        &self,
        operation: Operation<'_, Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        match operation {
            Operation::Ready(done) => done,
            Operation::Later(later) => match timeout(self.policy().store_deadline, later).await {
                Ok(done) => done,
                Err(_) => Err(StoreError::new("no answer within the store's deadline")),
            },
        }
    }

    /// Ends the session.
    pub(crate) async fn end(&self) {
        self.close().await;
        if let Err(error) = self.store(self.record.end()).await {
            tracing::error!(session = %self.id.as_str().escape_debug(), %error, "the session did not end in its store");
        }
        if let Some(journal) = &self.shared.journal
            && let Err(error) = journal.forget(self.id.as_str()).await
        {
            tracing::error!(session = %self.id.as_str().escape_debug(), %error, "the journal keeps an ended session");
        }
    }

    /// Lets no more calls in, cancels those that run, and waits until they are answered.
    pub(crate) async fn close(&self) {
        self.drain.close();
        self.running.cancel_all();
        self.drain.idle().await;
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
