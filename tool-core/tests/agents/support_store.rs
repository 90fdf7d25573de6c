//! A store that fails or is slow on request.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tool_core::agents::{
    AgentRecords, AgentStoreError, AgentSummary, AgentToolStore, AgentTools, MemoryAgentToolStore,
    RecordWrite, SealedRow, SealedSecrets, UnreadableRow,
};
use tool_core::session::{ApprovalLimits, ApprovalVerdict, PendingCall};

/// A store in memory behind a line that breaks. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Line(Arc<Wire>);

#[derive(Default)]
struct Wire {
    store: MemoryAgentToolStore,
    down: AtomicBool,
    hangs: AtomicBool,
    panics: AtomicBool,
    versions: AtomicU32,
    loads: AtomicU32,
    unreadable: Mutex<Vec<UnreadableRow>>,
}

impl Line {
    pub(crate) fn down(&self, down: bool) {
        self.0.down.store(down, Ordering::SeqCst);
    }

    pub(crate) fn hangs(&self, hangs: bool) {
        self.0.hangs.store(hangs, Ordering::SeqCst);
    }

    pub(crate) fn panics(&self, panics: bool) {
        self.0.panics.store(panics, Ordering::SeqCst);
    }

    /// The number of reads of versions and of records.
    pub(crate) fn asked(&self) -> (u32, u32) {
        (
            self.0.versions.load(Ordering::SeqCst),
            self.0.loads.load(Ordering::SeqCst),
        )
    }

    /// A damaged row.
    pub(crate) fn spoil(&self, tool: &str, why: &str) {
        self.0
            .unreadable
            .lock()
            .expect("no panic")
            .push(UnreadableRow::new(tool, why));
    }

    /// Runs an operation, unless the store is set to fail.
    async fn pass<T>(
        &self,
        operation: impl Future<Output = Result<T, AgentStoreError>>,
    ) -> Result<T, AgentStoreError> {
        tokio::task::yield_now().await;
        assert!(!self.0.panics.load(Ordering::SeqCst), "boom");
        if self.0.hangs.load(Ordering::SeqCst) {
            tokio::time::sleep(Duration::from_secs(3_600)).await;
        }
        if self.0.down.load(Ordering::SeqCst) {
            return Err(AgentStoreError::down(
                "connection refused, password=hunter2",
            ));
        }
        operation.await
    }
}

macro_rules! passed {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        $(async fn $name(&self, $($argument: $type),*) -> Result<$result, AgentStoreError> {
            self.pass(self.0.store.$name($($argument),*)).await
        })*
    };
}

impl AgentToolStore for Line {
    async fn version(&self, agent: &str) -> Result<u64, AgentStoreError> {
        self.0.versions.fetch_add(1, Ordering::SeqCst);
        self.pass(self.0.store.version(agent)).await
    }

    async fn load(&self, agent: &str) -> Result<AgentRecords, AgentStoreError> {
        self.0.loads.fetch_add(1, Ordering::SeqCst);
        let mut records = self.pass(self.0.store.load(agent)).await?;
        records
            .unreadable
            .clone_from(&self.0.unreadable.lock().expect("no panic"));
        Ok(records)
    }

    passed! {
        get(agent: &str, tool: &str) -> Option<AgentTools>;
        write(write: &RecordWrite) -> u64;
        remove(agent: &str, tool: &str, version: u64) -> ();
        agents(after: Option<&str>, limit: u32) -> Vec<AgentSummary>;
        sealed_under_others(key: &str, after: Option<(&str, &str)>, limit: u32) -> Vec<SealedRow>;
        replace_secrets(agent: &str, tool: &str, from: &SealedSecrets, to: &SealedSecrets) -> bool;
        lease(agent: &str, tool: &str, holder: &str, duration: Duration) -> bool;
        release(agent: &str, tool: &str, holder: &str) -> ();
        keep_action(agent: &str, call: &PendingCall, lifetime: Duration, limits: ApprovalLimits) -> ApprovalVerdict;
        action(agent: &str, id: &str) -> Option<PendingCall>;
        take_action(agent: &str, id: &str) -> Option<Duration>;
    }
}
