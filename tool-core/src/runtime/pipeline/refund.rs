//! The budget of a call that was admitted and does not run: given back, also when the caller is gone.

use super::Governed;
use crate::runtime::session::Core;
use crate::runtime::store::{Operation, Settlement, StoreError};
use crate::tool::FunctionTool;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tracing::Instrument;

/// Gives a call's budget back when it is dropped, unless it was told to keep it.
pub(super) struct Refund {
    core: Arc<Core>,
    tool: FunctionTool,
    /// In which the call was charged.
    turn: Option<u64>,
    kept: AtomicBool,
}

impl Refund {
    /// `turn`: in which the call was charged; nothing is given back where it was not.
    pub(super) fn new(core: &Arc<Core>, tool: &FunctionTool, turn: Option<u64>) -> Self {
        Self { core: Arc::clone(core), tool: tool.clone(), turn, kept: AtomicBool::new(false) }
    }

    pub(super) fn of(call: &Governed<'_>, turn: Option<u64>) -> Self {
        Self::new(call.core, call.tool, turn)
    }

    /// The call runs.
    pub(super) fn keep(&self) {
        self.kept.store(true, Ordering::Relaxed);
    }

    /// The call does not run, unless it was said to.
    pub(super) async fn give(mut self) {
        if let Some(given) = self.begin() {
            // A task of its own: whoever waits for it may be gone before it is done.
            let _ = given.await;
        }
    }

    /// Gives back once; by a task where the store answers later.
    fn begin(&mut self) -> Option<JoinHandle<()>> {
        let turn = self.turn.take().filter(|_| !self.kept.load(Ordering::Relaxed))?;
        match self.core.record.settle(&settlement(&self.tool, turn)) {
            Operation::Ready(done) => {
                told(done);
                None
            }
            Operation::Later(_) => {
                let (core, tool) = (Arc::clone(&self.core), self.tool.clone());
                let work = async move { told(core.store(core.record.settle(&settlement(&tool, turn))).await) };
                Some(Handle::try_current().ok()?.spawn(work.in_current_span()))
            }
        }
    }
}

impl Drop for Refund {
    fn drop(&mut self) {
        drop(self.begin());
    }
}

fn settlement(tool: &FunctionTool, turn: u64) -> Settlement<'_> {
    let category = tool.definition().category();
    Settlement { tool: tool.name(), category, turn, refund: true, ..Settlement::default() }
}

fn told(done: Result<(), StoreError>) {
    if let Err(error) = done {
        tracing::error!(%error, "a budget was not given back");
    }
}
