//! The journal of a store, which processes share: what does not depend on where it is kept.

use crate::random::random_number;
use crate::sign_of_life::SignOfLife;
use sha2::{Digest, Sha256};
use std::fmt;
use std::time::Duration;
use tool_core::serde_json;
use tool_core::session::{
    Journal, JournalEntry, JournalError, JournalStart, RecoveredCall, StoreError,
};
use tool_core::text::hex;

/// Default time after which a process that gives no sign of life counts as killed.
const LEASE: Duration = Duration::from_secs(10);
/// The shortest such time.
const SHORTEST_LEASE: Duration = Duration::from_millis(100);
/// Default age at which calls are removed.
const KEEP: Duration = Duration::from_secs(7 * 24 * 3_600);

/// The [`Journal`] of a store, which all processes with the store share. Its method `journal` creates
/// it.
///
/// A call that another process has started is not started again. While that process lives, the call
/// is a `CONFLICT`; once it has ended, the call gets the response that was recorded, or is `UNKNOWN`
/// if its tool may have changed something.
///
/// The journal keeps arguments and responses as they are, for 7 days by default. Give the runtime a
/// [signing key](tool_core::session::RuntimeBuilder::signing_key), so that no response is read from a
/// record that someone has changed.
pub struct StoreJournal<T> {
    calls: T,
    options: JournalOptions,
    sign_of_life: SignOfLife,
}

/// The options of a journal.
#[derive(Clone, Debug)]
pub(crate) struct JournalOptions {
    /// Distinguishes this process's journal from all others.
    pub(crate) process: String,
    pub(crate) lease: Duration,
    pub(crate) keep: Duration,
}

/// The place in which a store keeps the calls of a journal.
pub(crate) trait JournaledCalls: Clone + Send + Sync + 'static {
    /// Records a call, unless another process has recorded one with its id which it does not replace,
    /// or any process one under its approval.
    fn start(
        &self,
        options: &JournalOptions,
        call: &JournalEntry,
        entry: &str,
    ) -> impl Future<Output = Result<StartedCall, StoreError>> + Send;

    /// Returns what `start` would say of another process's call. `None` if there is none.
    fn find(
        &self,
        process: &str,
        session: &str,
        call_id: &str,
    ) -> impl Future<Output = Result<Option<StartedCall>, StoreError>> + Send;

    /// Records the end of a call that this process has started.
    fn finish(
        &self,
        process: &str,
        session: &str,
        call_id: &str,
        response: &str,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Returns the calls of other processes that are not running, in their order.
    fn of_others(
        &self,
        process: &str,
        session: &str,
    ) -> impl Future<Output = Result<Vec<KnownCall>, StoreError>> + Send;

    /// Removes the calls of a session.
    fn forget(&self, session: &str) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Tells other processes that this one lives, and removes what is old.
    fn beat(&self, options: &JournalOptions)
    -> impl Future<Output = Result<(), StoreError>> + Send;
}

/// The outcome of the start of a call.
pub(crate) enum StartedCall {
    Recorded,
    /// Another process is running a call with its id.
    Running,
    /// Another process has recorded a call with its id, or any process one under its approval.
    Known(KnownCall),
}

/// A call that is recorded, as the store has it.
pub(crate) struct KnownCall {
    pub(crate) entry: String,
    pub(crate) response: Option<String>,
    pub(crate) number: u64,
}

impl StartedCall {
    fn read(self) -> Result<JournalStart, StoreError> {
        match self {
            Self::Recorded => Ok(JournalStart::Recorded),
            Self::Running => Ok(JournalStart::Running),
            Self::Known(call) => Ok(JournalStart::Known(Box::new(call.read()?))),
        }
    }
}

impl KnownCall {
    /// Returns true if a call that is about to start is under the approval of this one. A script
    /// decides it in Redis.
    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    pub(crate) fn has_approval_of(&self, call: &JournalEntry) -> Result<bool, StoreError> {
        Ok(call.approval.is_some() && call.has_approval_of(&self.entry()?))
    }

    fn entry(&self) -> Result<JournalEntry, StoreError> {
        serde_json::from_str(&self.entry)
            .map_err(|_| StoreError::new("the store holds an invalid entry of the journal"))
    }

    fn read(self) -> Result<RecoveredCall, StoreError> {
        Ok(RecoveredCall {
            entry: self.entry()?,
            response: self.response,
            number: self.number,
        })
    }
}

/// Returns the digest of an id, which has 64 characters however long the id is.
pub(crate) fn digest(id: &str) -> String {
    hex(&Sha256::digest(id.as_bytes()))
}

impl<T> StoreJournal<T> {
    /// # Panics
    ///
    /// Panics if the operating system has no source of randomness.
    pub(crate) fn new(calls: T) -> Self {
        let process = random_number().expect("the operating system gives random bytes");
        Self {
            calls,
            options: JournalOptions {
                process: format!("{process:032x}"),
                lease: LEASE,
                keep: KEEP,
            },
            sign_of_life: SignOfLife::default(),
        }
    }

    /// Sets the time after which other processes count this one as killed, if it gives no sign of
    /// life. It gives one three times as often. Defaults to 10 s, and is at least 100 ms.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> Self {
        self.options.lease = lease.max(SHORTEST_LEASE);
        self
    }

    /// Sets the age at which calls are removed. Defaults to 7 days.
    #[must_use]
    pub fn keep(mut self, keep: Duration) -> Self {
        self.options.keep = keep;
        self
    }
}

#[allow(private_bounds)] // only this crate implements the trait
impl<T: JournaledCalls> StoreJournal<T> {
    /// Tells other processes that this one lives, now and until the journal is dropped.
    async fn show_life(&self) -> Result<(), JournalError> {
        let calls = self.calls.clone();
        let options = self.options.clone();
        let beat = move || {
            let calls = calls.clone();
            let options = options.clone();
            async move { calls.beat(&options).await.map_err(failed) }
        };
        self.sign_of_life.give(self.options.lease, beat).await
    }
}

impl<T: JournaledCalls> Journal for StoreJournal<T> {
    async fn started(&self, call: &JournalEntry) -> Result<JournalStart, JournalError> {
        self.show_life().await?;
        let entry = serde_json::to_string(call).map_err(|error| {
            JournalError::with_source("failed to write an entry as JSON", error)
        })?;
        let started = self.calls.start(&self.options, call, &entry).await;
        started.and_then(StartedCall::read).map_err(failed)
    }

    async fn find(
        &self,
        session: &str,
        call_id: &str,
    ) -> Result<Option<JournalStart>, JournalError> {
        let found = self.calls.find(&self.options.process, session, call_id);
        let found = found.await.map_err(failed)?;
        found.map(StartedCall::read).transpose().map_err(failed)
    }

    async fn finished(
        &self,
        session: &str,
        call_id: &str,
        response: &str,
    ) -> Result<(), JournalError> {
        let process = &self.options.process;
        let finished = self.calls.finish(process, session, call_id, response);
        finished.await.map_err(failed)
    }

    async fn recover(&self, session: &str) -> Result<Vec<RecoveredCall>, JournalError> {
        let found = self.calls.of_others(&self.options.process, session);
        let mut calls = Vec::new();
        for call in found.await.map_err(failed)? {
            // The call of a record that is left out does not run: its start finds the record again.
            match call.read() {
                Ok(call) => calls.push(call),
                Err(error) => tracing::warn!(%error, "a call is left out"),
            }
        }
        Ok(calls)
    }

    async fn forget(&self, session: &str) -> Result<(), JournalError> {
        self.calls.forget(session).await.map_err(failed)
    }
}

fn failed(error: StoreError) -> JournalError {
    JournalError::with_source(error.to_string(), error)
}

impl<T> fmt::Debug for StoreJournal<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreJournal")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
