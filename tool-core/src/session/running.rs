//! The running calls of a session: listed, cancelled, interrupted, and compared with new calls.

use crate::call::context::CallContext;
use crate::call::{ErrorKind, ToolError};
#[cfg(all(test, loom))]
use crate::session::tests::loom::sync::{AtomicBool, AtomicU64, Mutex};
use crate::tool::{DuplicateScope, FunctionTool, OnDuplicate};
#[cfg(not(all(test, loom)))]
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::Ordering;
#[cfg(not(all(test, loom)))]
use std::sync::atomic::{AtomicBool, AtomicU64};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The calls of one session that are running in this process.
///
/// A call is listed once it waits for something, or before it runs where its tool minds duplicates.
#[derive(Default)]
pub(crate) struct RunningCalls {
    /// Counts interruptions, so that a call that starts during one is cancelled too.
    interruptions: AtomicU64,
    /// Counts those that concern only the calls for whose answers the model waits.
    interruptions_of_awaited: AtomicU64,
    next_key: AtomicU64,
    /// True once the session has ended. Then even uninterruptible calls are cancelled.
    closed: AtomicBool,
    calls: Mutex<Vec<RunningCall>>,
}

/// The interruptions of a session so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Interruptions {
    of_all: u64,
    of_awaited: u64,
}

impl Interruptions {
    /// Returns true if an interruption since `before` concerns a call. `is_awaited` says that the
    /// model waits for its answer.
    pub(crate) fn concern(self, is_awaited: bool, before: Self) -> bool {
        self.of_all != before.of_all || is_awaited && self.of_awaited != before.of_awaited
    }
}

/// A call that is listed, or about to be.
pub(crate) struct RunningCall {
    key: u64,
    id: Arc<str>,
    tool: FunctionTool,
    fingerprint: Option<u64>,
    token: CancellationToken,
    scope: Option<Arc<CallContext>>,
    since: Instant,
    /// True if the model waits for the answer, as far as the call itself tells.
    is_awaited: bool,
}

/// Keeps a call listed until it is dropped. Cancels the call's token when it is dropped before
/// [`finish`](Self::finish).
pub(crate) struct RunningGuard<'a> {
    running: &'a RunningCalls,
    key: u64,
    pub(crate) token: CancellationToken,
    /// The calls that this one replaces.
    replaces: Vec<CancellationToken>,
    finished: bool,
}

impl RunningCalls {
    /// Returns the number of interruptions so far. A call reads it when it begins, and passes it to
    /// [`enter`](Self::enter).
    #[inline]
    pub(crate) fn interruptions(&self) -> Interruptions {
        Interruptions {
            of_all: self.interruptions.load(Ordering::Acquire),
            of_awaited: self.interruptions_of_awaited.load(Ordering::Acquire),
        }
    }

    /// Lists a call.
    pub(crate) fn enter(
        &self,
        call: RunningCall,
        interruptions_before: Interruptions,
    ) -> RunningGuard<'_> {
        self.push(
            &mut self.calls.lock(),
            call,
            Vec::new(),
            interruptions_before,
        )
    }

    /// Lists a call of a tool that minds duplicates, or returns the conflict with a running call.
    pub(crate) fn claim(
        &self,
        call: RunningCall,
        confirmed: bool,
        interruptions_before: Interruptions,
    ) -> Result<RunningGuard<'_>, ToolError> {
        let mut calls = self.calls.lock();
        let tool = &call.tool;
        let definition = call.tool.definition();
        let by_arguments = definition.duplicate_scope() == DuplicateScope::NameAndArgs;
        let is_duplicate = |other: &&RunningCall| {
            other.tool.name() == tool.name()
                && (!by_arguments || other.fingerprint == call.fingerprint)
        };
        let mut replaces = Vec::new();
        let duplicates = calls.iter().filter(is_duplicate).collect::<Vec<_>>();
        if let Some(other) = duplicates.first() {
            match definition.on_duplicate() {
                OnDuplicate::Allow => {}
                OnDuplicate::Confirm if confirmed => {}
                OnDuplicate::Replace => {
                    for replaced in &duplicates {
                        replaced
                            .check_cancellable()
                            .map_err(|reason| conflict(tool, other, reason))?;
                        replaces.push(replaced.token.clone());
                    }
                }
                OnDuplicate::Reject => return Err(conflict(tool, other, "wait for its result")),
                OnDuplicate::Confirm => {
                    let fix = "to run it a second time beside that one, call it with `confirm_duplicate` true";
                    return Err(conflict(tool, other, fix));
                }
            }
        }
        Ok(self.push(&mut calls, call, replaces, interruptions_before))
    }

    fn push(
        &self,
        calls: &mut Vec<RunningCall>,
        mut call: RunningCall,
        replaces: Vec<CancellationToken>,
        interruptions_before: Interruptions,
    ) -> RunningGuard<'_> {
        let interruptions = self.interruptions();
        if interruptions.concern(call.is_awaited, interruptions_before)
            && (call.is_interruptible() || self.closed.load(Ordering::Acquire))
        {
            call.token.cancel();
        }
        call.key = self.next_key.fetch_add(1, Ordering::Relaxed);
        let guard = RunningGuard {
            running: self,
            key: call.key,
            token: call.token.clone(),
            replaces,
            finished: false,
        };
        calls.push(call);
        guard
    }

    /// Returns true if a call of that id is running.
    pub(crate) fn has(&self, id: &str) -> bool {
        let calls = self.calls.lock();
        calls.iter().any(|call| &*call.id == id)
    }

    /// Cancels a call for the host. Returns false if no call of that id is running.
    pub(crate) fn cancel(&self, id: &str) -> bool {
        let calls = self.calls.lock();
        let named = calls.iter().filter(|call| &*call.id == id);
        named.map(|call| call.token.cancel()).count() > 0
    }

    /// Cancels a call for the model, if its tool allows that.
    pub(crate) fn cancel_for_model(&self, id: &str) -> Result<(), ToolError> {
        let calls = self.calls.lock();
        let Some(call) = calls.iter().find(|call| &*call.id == id) else {
            let shown = id.chars().take(128).collect::<String>();
            let message = format!(
                "no call `{}` is running; get the ids of running calls from `list_running_calls`",
                shown.escape_debug()
            );
            return Err(ToolError::new(ErrorKind::NotFound, message, false));
        };
        call.check_cancellable().map_err(|reason| {
            ToolError::permanent(format!("`{}` cannot be cancelled: {reason}", call.id))
        })?;
        call.token.cancel();
        Ok(())
    }

    /// Cancels all interruptible calls, and returns their number.
    pub(crate) fn interrupt(&self) -> usize {
        let calls = self.calls.lock();
        self.interruptions.fetch_add(1, Ordering::AcqRel);
        let interruptible = calls.iter().filter(|call| call.is_interruptible());
        interruptible.map(|call| call.token.cancel()).count()
    }

    /// Cancels the interruptible calls for whose answers the model waits, and returns their number.
    /// `is_answered` finds the calls that go on after their answer.
    pub(crate) fn interrupt_awaited(&self, is_answered: impl Fn(&str) -> bool) -> usize {
        let calls = self.calls.lock();
        self.interruptions_of_awaited.fetch_add(1, Ordering::AcqRel);
        let mut interrupted = 0;
        for call in calls.iter() {
            if call.is_awaited && call.is_interruptible() && !is_answered(&call.id) {
                call.token.cancel();
                interrupted += 1;
            }
        }
        interrupted
    }

    /// Cancels all calls, including those that start later.
    pub(crate) fn cancel_all(&self) {
        let calls = self.calls.lock();
        self.closed.store(true, Ordering::Release);
        self.interruptions.fetch_add(1, Ordering::AcqRel);
        for call in calls.iter() {
            call.token.cancel();
        }
    }

    /// Shows the id of each call, and the name of its tool.
    pub(crate) fn each(&self, mut show: impl FnMut(&str, &str)) {
        for call in self.calls.lock().iter() {
            show(&call.id, call.tool.name());
        }
    }

    /// Returns the list that the model reads.
    pub(crate) fn list_for_model(&self) -> Value {
        let calls = self.calls.lock();
        let rows = calls.iter().map(|call| {
            json!({
                "call_id": &*call.id,
                "tool": call.tool.name(),
                "seconds": call.since.elapsed().as_secs(),
                "cancellable": call.check_cancellable().is_ok()
            })
        });
        rows.collect()
    }
}

impl RunningCall {
    /// Describes a call. A tool that takes a context shares the token through its `scope`. The
    /// fingerprint is of the arguments, if the tool minds duplicates. `host` is the token of a host
    /// that may cancel the call.
    pub(crate) fn new(
        id: &Arc<str>,
        tool: &FunctionTool,
        scope: Option<&Arc<CallContext>>,
        fingerprint: Option<u64>,
        host: Option<&CancellationToken>,
    ) -> Self {
        let own = || host.map_or_else(CancellationToken::new, CancellationToken::child_token);
        let token = scope.map(|scope| scope.cancellation.get_or_init(own).clone());
        Self {
            key: 0,
            id: Arc::clone(id),
            tool: tool.clone(),
            fingerprint,
            token: token.unwrap_or_else(own),
            scope: scope.cloned(),
            since: Instant::now(),
            is_awaited: true,
        }
    }

    /// Sets whether the model waits for the answer.
    pub(crate) fn awaited(self, is_awaited: bool) -> Self {
        Self { is_awaited, ..self }
    }

    fn is_interruptible(&self) -> bool {
        !self
            .scope
            .as_ref()
            .is_some_and(|scope| scope.uninterruptible.load(Ordering::Relaxed))
    }

    /// Checks that the model may cancel the call.
    fn check_cancellable(&self) -> Result<(), &'static str> {
        match (
            self.tool.definition().flags().cancellable,
            self.is_interruptible(),
        ) {
            (false, _) => Err("its tool does not allow cancellation"),
            (true, false) => Err("it has reached a point where it cannot be interrupted"),
            (true, true) => Ok(()),
        }
    }
}

impl RunningGuard<'_> {
    /// Cancels the calls that this one replaces. Called when this call is about to run, as it may
    /// be refused until then.
    pub(crate) fn cancel_replaced(&self) {
        for token in &self.replaces {
            token.cancel();
        }
    }

    /// Removes the call, which has ended, without cancelling its token: tasks that it spawned
    /// continue.
    pub(crate) fn finish(mut self) {
        self.finished = true;
    }
}

impl Drop for RunningGuard<'_> {
    fn drop(&mut self) {
        if !self.finished {
            self.token.cancel();
        }
        self.running
            .calls
            .lock()
            .retain(|call| call.key != self.key);
    }
}

fn conflict(tool: &FunctionTool, other: &RunningCall, fix: &str) -> ToolError {
    ToolError::conflict(format!(
        "`{}` is already running as call `{}`: {fix}",
        tool.name(),
        other.id
    ))
}
