//! The calls that are running: listed, cancelled, interrupted, and held against those that come.

use crate::call::error::{ErrorKind, ToolError};
use crate::call::scope::Scope;
use crate::tool::function::FunctionTool;
use crate::tool::options::{DuplicateScope, OnDuplicate};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The calls of one session that run in this process.
#[derive(Default)]
#[repr(C)]
pub(crate) struct Running {
    /// Counts interruptions, so that a call which starts while one happens hears of it.
    interruptions: AtomicU64,
    next: AtomicU64,
    /// Whether the session has ended: then no call goes on, whatever it disallowed.
    over: AtomicBool,
    calls: Mutex<Vec<Call>>,
}

struct Call {
    key: u64,
    id: Arc<str>,
    tool: FunctionTool,
    fingerprint: Option<u128>,
    token: CancellationToken,
    scope: Option<Arc<Scope>>,
    since: Instant,
}

/// A call's place among those that run, until it is dropped. Dropped before it was told that the call has ended, it
/// cancels the call's token.
pub(crate) struct Entry<'a> {
    running: &'a Running,
    key: u64,
    pub(crate) token: CancellationToken,
    /// The calls in whose place it comes.
    replaces: Vec<CancellationToken>,
    ended: bool,
}

impl Running {
    fn lock(&self) -> MutexGuard<'_, Vec<Call>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// To be given to [`enter`](Self::enter), from before the call began.
    #[inline]
    pub(crate) fn epoch(&self) -> u64 {
        self.interruptions.load(Ordering::Acquire)
    }

    /// Lists a call. `scope`: where its tool takes a context, which then shares the token.
    pub(crate) fn enter(
        &self,
        id: &Arc<str>,
        tool: &FunctionTool,
        scope: Option<&Arc<Scope>>,
        epoch: u64,
    ) -> Entry<'_> {
        self.push(&mut self.lock(), id, tool, None, scope, epoch)
    }

    /// Lists a call of a tool that minds duplicates, or says what keeps it from running. L17
    pub(crate) fn claim(
        &self,
        id: &Arc<str>,
        tool: &FunctionTool,
        fingerprint: u128,
        scope: Option<&Arc<Scope>>,
        confirmed: bool,
        epoch: u64,
    ) -> Result<Entry<'_>, ToolError> {
        let mut calls = self.lock();
        let definition = tool.definition();
        let by_arguments = definition.duplicate_scope() == DuplicateScope::NameAndArgs;
        let same =
            |call: &&Call| call.tool.name() == tool.name() && (!by_arguments || call.fingerprint == Some(fingerprint));
        let mut replaces = Vec::new();
        let duplicates = calls.iter().filter(same).collect::<Vec<_>>();
        if let Some(other) = duplicates.first() {
            match definition.on_duplicate() {
                OnDuplicate::Allow => {}
                OnDuplicate::Confirm if confirmed => {}
                OnDuplicate::Replace => {
                    for call in &duplicates {
                        call.cancellable().map_err(|why| conflict(tool, other, why))?;
                    }
                    replaces.extend(duplicates.iter().map(|call| call.token.clone()));
                }
                OnDuplicate::Reject => return Err(conflict(tool, other, "wait for its result")),
                OnDuplicate::Confirm => {
                    let how = "to run it a second time beside that one, call it with `confirm_duplicate` true";
                    return Err(conflict(tool, other, how));
                }
            }
        }
        let mut entry = self.push(&mut calls, id, tool, Some(fingerprint), scope, epoch);
        entry.replaces = replaces;
        Ok(entry)
    }

    fn push(
        &self,
        calls: &mut Vec<Call>,
        id: &Arc<str>,
        tool: &FunctionTool,
        fingerprint: Option<u128>,
        scope: Option<&Arc<Scope>>,
        epoch: u64,
    ) -> Entry<'_> {
        let key = self.next.fetch_add(1, Ordering::Relaxed);
        let token = match scope {
            Some(scope) => scope.cancellation.get_or_init(CancellationToken::new).clone(),
            None => CancellationToken::new(),
        };
        let uninterruptible = scope.is_some_and(|scope| scope.uninterruptible.load(Ordering::Relaxed));
        if self.epoch() != epoch && (!uninterruptible || self.over.load(Ordering::Acquire)) {
            token.cancel();
        }
        calls.push(Call {
            key,
            id: Arc::clone(id),
            tool: tool.clone(),
            fingerprint,
            token: token.clone(),
            scope: scope.cloned(),
            since: Instant::now(),
        });
        Entry { running: self, key, token, replaces: Vec::new(), ended: false }
    }

    /// Cancels a call for the host.
    pub(crate) fn cancel(&self, id: &str) -> bool {
        let calls = self.lock();
        let mut found = false;
        for call in calls.iter().filter(|call| &*call.id == id) {
            call.token.cancel();
            found = true;
        }
        found
    }

    /// Cancels a call for the model, where its tool allows that. L16
    pub(crate) fn cancel_for_model(&self, id: &str) -> Result<(), ToolError> {
        let calls = self.lock();
        let named = calls.iter().filter(|call| &*call.id == id).collect::<Vec<_>>();
        let Some(first) = named.first() else {
            let shown = id.chars().take(128).collect::<String>();
            let message =
                format!("no call `{}` is running; `list_running_calls` tells which are", shown.escape_debug());
            return Err(ToolError::new(ErrorKind::NotFound, message, false));
        };
        first
            .cancellable()
            .map_err(|why| ToolError::permanent(format!("`{}` cannot be cancelled: {why}", first.id)))?;
        first.token.cancel();
        Ok(())
    }

    /// Cancels all calls that have not disallowed it.
    pub(crate) fn interrupt(&self) -> usize {
        let calls = self.lock();
        self.interruptions.fetch_add(1, Ordering::AcqRel);
        let open = calls.iter().filter(|call| call.interruptible());
        open.map(|call| call.token.cancel()).count()
    }

    pub(crate) fn cancel_all(&self) {
        let calls = self.lock();
        self.over.store(true, Ordering::Release);
        self.interruptions.fetch_add(1, Ordering::AcqRel);
        for call in calls.iter() {
            call.token.cancel();
        }
    }

    /// The list as the model reads it.
    pub(crate) fn for_model(&self) -> Value {
        let calls = self.lock();
        let rows = calls.iter().map(|call| {
            json!({
                "call_id": &*call.id,
                "tool": call.tool.name(),
                "seconds": call.since.elapsed().as_secs(),
                "cancellable": call.cancellable().is_ok()
            })
        });
        rows.collect()
    }
}

impl Call {
    fn interruptible(&self) -> bool {
        !self.scope.as_ref().is_some_and(|scope| scope.uninterruptible.load(Ordering::Relaxed))
    }

    fn cancellable(&self) -> Result<(), &'static str> {
        match (self.tool.definition().flags().cancellable, self.interruptible()) {
            (false, _) => Err("its tool does not allow that"),
            (true, false) => Err("it has come to a point where it cannot be interrupted"),
            (true, true) => Ok(()),
        }
    }
}

impl Entry<'_> {
    /// The call runs, so those in whose place it comes are cancelled: not before, as it may yet be refused.
    pub(crate) fn replace(&self) {
        for token in &self.replaces {
            token.cancel();
        }
    }

    /// The call has ended: what it may have spawned goes on.
    pub(crate) fn ended(mut self) {
        self.ended = true;
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.token.cancel();
        }
        self.running.lock().retain(|call| call.key != self.key);
    }
}

fn conflict(tool: &FunctionTool, other: &Call, how: &str) -> ToolError {
    let message = format!("`{}` is running already, as call `{}`: {how}", tool.name(), other.id);
    ToolError::conflict(message)
}
