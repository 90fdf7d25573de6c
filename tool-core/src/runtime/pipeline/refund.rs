//! The budget of a call that was admitted and does not run: given back, also when the caller is gone.

use super::Governed;
use crate::runtime::session::Core;
use crate::runtime::store::{Operation, Settlement};
use std::sync::Arc;

/// Gives a call's budget back when it is dropped, unless it was told to keep it.
pub(super) struct Refund<'a> {
    core: &'a Arc<Core>,
    settlement: Option<Settlement<'a>>,
}

impl<'a> Refund<'a> {
    /// `turn`: in which the call was admitted; nothing was charged where it was not.
    pub(super) fn new(call: &Governed<'a>, turn: Option<u64>) -> Self {
        let settlement = turn.map(|turn| Settlement {
            tool: call.tool.name(),
            category: call.definition().category,
            turn,
            refund: true,
            ..Settlement::default()
        });
        Self { core: call.core, settlement: settlement.filter(|_| !call.core.toolbox.is_companion(call.at)) }
    }

    /// The call runs.
    pub(super) fn keep(mut self) {
        self.settlement = None;
    }

    /// The call does not run.
    pub(super) async fn give(mut self) {
        let Some(settlement) = self.settlement.take() else { return };
        if let Err(error) = self.core.store(self.core.record.settle(&settlement)).await {
            tracing::error!(%error, "a budget was not given back");
        }
    }
}

impl Drop for Refund<'_> {
    fn drop(&mut self) {
        let Some(settlement) = self.settlement.take() else { return };
        let Operation::Later(_) = self.core.record.settle(&settlement) else { return };
        // A store that answers later is told by a task of its own.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (core, tool) = (Arc::clone(self.core), settlement.tool.to_owned());
        let (category, turn) = (settlement.category, settlement.turn);
        runtime.spawn(async move {
            let settlement = Settlement { tool: &tool, category, turn, refund: true, ..Settlement::default() };
            if let Err(error) = core.store(core.record.settle(&settlement)).await {
                tracing::error!(%error, "a budget was not given back");
            }
        });
    }
}
