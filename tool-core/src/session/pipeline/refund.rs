//! The refund of a call that was charged and did not run.

use crate::session::inner::SessionInner;
use crate::session::pipeline::meter::CallMeter;
use crate::session::store::Settlement;
use crate::tool::FunctionTool;
use parking_lot::Mutex;
use std::sync::Arc;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tracing::Instrument;

/// Refunds a call's budget when it is dropped, unless the call runs. This holds even if the caller
/// is gone.
pub(crate) struct RefundGuard {
    session: Arc<SessionInner>,
    tool: FunctionTool,
    /// The turn in which the call was charged, until it runs or is refunded.
    turn: Mutex<Option<u64>>,
    /// The call, if it may ask again.
    repeatable: Option<u128>,
}

impl RefundGuard {
    /// Creates a guard of a call that was charged in `turn`, or that was not charged.
    pub(crate) fn new(
        session: &Arc<SessionInner>,
        tool: &FunctionTool,
        turn: Option<u64>,
        repeatable: Option<u128>,
    ) -> Self {
        Self {
            session: Arc::clone(session),
            tool: tool.clone(),
            turn: Mutex::new(turn),
            repeatable,
        }
    }

    /// Keeps the charge, as the call runs.
    pub(crate) fn keep_charge(&self) {
        *self.turn.lock() = None;
    }

    /// Refunds the budget and waits for the store, unless the call has run. A call that has not run
    /// took no time.
    pub(crate) async fn refund(mut self, meter: Option<&CallMeter>) {
        if let Some(meter) = meter.filter(|_| self.turn.get_mut().is_some()) {
            meter.did_not_run();
        }
        if let Some(task) = self.start() {
            // The task continues if this future is dropped.
            let _ = task.await;
        }
    }

    /// Starts the refund once. Returns a task if the store has to be awaited.
    fn start(&mut self) -> Option<JoinHandle<()>> {
        let turn = self.turn.get_mut().take()?;
        if self
            .session
            .record
            .settle_now(&refund_of(&self.tool, turn, self.repeatable))
            .is_some()
        {
            return None;
        }
        let session = Arc::clone(&self.session);
        let tool = self.tool.clone();
        let repeatable = self.repeatable;
        let refund = async move {
            let refund = refund_of(&tool, turn, repeatable);
            if let Err(error) = session.record.settle(&refund).await {
                tracing::error!(%error, "failed to refund the budget of a call");
            }
        };
        Some(Handle::try_current().ok()?.spawn(refund.in_current_span()))
    }
}

impl Drop for RefundGuard {
    fn drop(&mut self) {
        drop(self.start());
    }
}

/// Returns the settlement that refunds a call of the tool.
pub(crate) fn refund_of(
    tool: &FunctionTool,
    turn: u64,
    repeatable: Option<u128>,
) -> Settlement<'_> {
    let category = tool.definition().category();
    Settlement {
        tool: tool.name(),
        category,
        turn,
        refund: true,
        repeatable,
        ..Settlement::default()
    }
}
