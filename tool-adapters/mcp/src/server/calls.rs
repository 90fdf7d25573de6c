//! The calls of a connection that are under way, and the one place where a client's cancellation
//! meets its call.
//!
//! A call is entered when its message has been read, so that a cancellation that comes right after
//! it finds it, however far the call has come: before its tool begins, while it runs, and after it
//! was handed over to rmcp.

use axum::http::request::Parts;
use foldhash::{HashMap, HashMapExt};
use parking_lot::Mutex;
use rmcp::model::{ClientJsonRpcMessage, Extensions, GetExtensions, RequestId};
use std::collections::hash_map::Entry;
use std::sync::Arc;
use tokio::time::Instant;
use tool_core::CancellationToken;

/// The calls of a connection that are not answered. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct CallsUnderWay(Arc<Mutex<Calls>>);

struct Calls {
    /// The calls that the client has not cancelled, by the ids of their requests.
    open: HashMap<RequestId, CancellationToken>,
    /// The time at which the last call ended.
    ended: Option<Instant>,
}

impl Default for Calls {
    fn default() -> Self {
        Self {
            open: HashMap::new(),
            ended: None,
        }
    }
}

impl CallsUnderWay {
    /// Enters a call whose message has been read. Returns `None` if it repeats the id of a call
    /// under way.
    pub(crate) fn enter(&self, id: &RequestId) -> Option<Arc<CallUnderWay>> {
        let cancellation = CancellationToken::new();
        match self.0.lock().open.entry(id.clone()) {
            Entry::Occupied(_) => return None,
            Entry::Vacant(entry) => _ = entry.insert(cancellation.clone()),
        }
        Some(Arc::new(CallUnderWay {
            calls: self.clone(),
            id: id.clone(),
            cancellation,
        }))
    }

    /// Cancels a call, which then has no answer. Its id may be used again. Returns false if no call
    /// with this id is under way.
    pub(crate) fn cancel(&self, id: &RequestId) -> bool {
        let mut calls = self.0.lock();
        let Some(cancellation) = calls.open.remove(id) else {
            return false;
        };
        cancellation.cancel();
        true
    }

    /// Returns the time at which a call was last under way, which is now if one is.
    pub(crate) fn last_use(&self, now: Instant) -> Option<Instant> {
        let calls = self.0.lock();
        if calls.open.is_empty() {
            calls.ended
        } else {
            Some(now)
        }
    }
}

/// The entry of a call, which leaves when it is dropped.
pub(crate) struct CallUnderWay {
    calls: CallsUnderWay,
    id: RequestId,
    /// Cancelled by the client only.
    cancellation: CancellationToken,
}

impl CallUnderWay {
    /// Returns the entry of a call that was handed over to rmcp, from its message or the HTTP
    /// request that has brought it.
    pub(crate) fn of(extensions: &Extensions) -> Option<&Arc<Self>> {
        let of_http = || extensions.get::<Parts>()?.extensions.get::<Arc<Self>>();
        extensions.get::<Arc<Self>>().or_else(of_http)
    }

    /// Returns true if the client no longer waits for the answer.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancellation.is_cancelled()
    }

    /// Returns a token for the work of the call, which is cancelled with the call.
    pub(crate) fn cancellation(&self) -> CancellationToken {
        self.cancellation.child_token()
    }
}

/// Returns true if a message is a call that its client has cancelled on its way to rmcp.
pub(crate) fn is_cancelled(message: &ClientJsonRpcMessage) -> bool {
    let ClientJsonRpcMessage::Request(request) = message else {
        return false;
    };
    CallUnderWay::of(request.request.extensions()).is_some_and(|call| call.is_cancelled())
}

impl Drop for CallUnderWay {
    fn drop(&mut self) {
        let mut calls = self.calls.0.lock();
        // After a cancellation the id may be that of another call.
        if !self.is_cancelled() {
            calls.open.remove(&self.id);
            calls.ended = Some(Instant::now());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_can_be_cancelled_until_its_entry_is_dropped() {
        let calls = CallsUnderWay::default();
        let id = RequestId::Number(7);
        let call = calls.enter(&id).expect("a new id");
        assert!(calls.enter(&id).is_none(), "a repeated id");
        let work = call.cancellation();
        assert!(calls.cancel(&id) && work.is_cancelled() && call.is_cancelled());
        assert!(!calls.cancel(&id));

        drop(calls.enter(&id).expect("a free id"));
        assert!(!calls.cancel(&id));
    }

    #[test]
    fn a_cancelled_call_leaves_the_entry_of_the_next() {
        let calls = CallsUnderWay::default();
        let id = RequestId::Number(7);
        let cancelled = calls.enter(&id).expect("a new id");
        calls.cancel(&id);
        let next = calls.enter(&id).expect("a free id");
        drop(cancelled);
        assert!(calls.cancel(&id) && next.is_cancelled());
    }

    #[test]
    fn work_that_ends_on_its_own_cancels_no_call() {
        let calls = CallsUnderWay::default();
        let call = calls.enter(&RequestId::Number(7)).expect("a new id");
        call.cancellation().cancel();
        assert!(!call.is_cancelled());
    }
}
