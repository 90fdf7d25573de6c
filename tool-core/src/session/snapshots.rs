//! The snapshots of tools that sessions bring themselves.

use crate::registry::{RegistryErrors, ToolContext};
use crate::session::control_tools::session_tools;
use crate::session::inner::RuntimeInner;
use crate::session::tools::SessionTools;
use parking_lot::Mutex;
use std::sync::{Arc, Weak};

/// The snapshots that runtimes have taken of a context, kept with it, so that each runtime takes
/// one for many sessions.
type SnapshotsByRuntime = Mutex<Vec<(Weak<RuntimeInner>, Arc<SessionTools>)>>;

impl RuntimeInner {
    /// Returns the snapshot of tools that a session brings itself.
    pub(crate) fn tools_of(
        self: &Arc<Self>,
        tools: &ToolContext,
    ) -> Result<Arc<SessionTools>, RegistryErrors> {
        let memo = tools.memo::<SnapshotsByRuntime>();
        let policies = Arc::clone(&self.tools.read().policies);
        let mut snapshots = memo.lock();
        // A snapshot with policies that were replaced is taken again.
        snapshots.retain(|(of, known)| {
            !std::ptr::eq(of.as_ptr(), Arc::as_ptr(self)) || Arc::ptr_eq(&known.policies, &policies)
        });
        if let Some((_, known)) = snapshots
            .iter()
            .find(|(of, _)| std::ptr::eq(of.as_ptr(), Arc::as_ptr(self)))
        {
            return Ok(Arc::clone(known));
        }
        let stats = |tool: &str| self.metrics.stats_of(tool, true);
        let mut snapshot = session_tools(tools.clone(), stats, &policies)?;
        // The context keeps the snapshot, so the snapshot must not keep the context alive.
        snapshot.context = snapshot.context.downgraded();
        let snapshot = Arc::new(snapshot);
        snapshots.retain(|(of, _)| of.strong_count() > 0);
        snapshots.push((Arc::downgrade(self), Arc::clone(&snapshot)));
        Ok(snapshot)
    }
}
