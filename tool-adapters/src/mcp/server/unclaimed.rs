//! Calls that the host approves: on the page of a gateway's operator, also while their client does not wait.
//!
//! A client that cannot ask its user waits for some time. After it the answer says that the call waits on, and the client that repeats
//! the call gets the response of this one call, once: an approved call does not run a second time.

use futures_util::future::BoxFuture;
use std::sync::{Mutex, PoisonError};
use tool_core::call::Confirmation;
use tool_core::{Session, ToolResponse};

/// The calls of a session that are kept for their repetition.
const MAX_CALLS: usize = 16;

/// A call that waits for an approval.
pub(crate) struct AwaitedCall {
    pub(crate) session: Session,
    pub(crate) tool: String,
    pub(crate) confirmation: Confirmation,
    /// The response, once the host has decided.
    pub(crate) outcome: BoxFuture<'static, Option<ToolResponse>>,
}

impl AwaitedCall {
    pub(crate) fn new(session: &Session, tool: &str, confirmation: &Confirmation) -> Self {
        let (waiting, asked) = (session.clone(), confirmation.clone());
        Self {
            session: session.clone(),
            tool: tool.to_owned(),
            confirmation: confirmation.clone(),
            outcome: Box::pin(async move { waiting.outcome(&asked).await }),
        }
    }
}

/// The calls of a session that wait while their client does not, by the digests of their requests. The oldest is first.
#[derive(Default)]
pub(crate) struct UnclaimedCalls(Mutex<Vec<(String, AwaitedCall)>>);

impl UnclaimedCalls {
    /// Keeps a call. Returns the oldest one if there are too many.
    pub(crate) fn keep(&self, digest: String, call: AwaitedCall) -> Option<AwaitedCall> {
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        calls.push((digest, call));
        (calls.len() > MAX_CALLS).then(|| calls.remove(0).1)
    }

    /// Takes out the call that a client repeats.
    pub(crate) fn claim(&self, digest: &str) -> Option<AwaitedCall> {
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = calls.iter().position(|(known, _)| known == digest)?;
        Some(calls.remove(at).1)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }
}
