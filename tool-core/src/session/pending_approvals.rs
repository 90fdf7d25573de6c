//! The calls that wait for approval in all sessions of a principal.

use crate::session::approvals::PendingCall;
use crate::session::runtime::Runtime;
use crate::session::store::{ApprovalPlace, StoreError};
use std::fmt;

/// A call that waits for approval. See [`Runtime::pending_approvals`].
#[derive(Clone)]
#[non_exhaustive]
pub struct PendingApproval {
    /// The call: what the person must see ([`payload`](PendingCall::payload)), the session, the
    /// tool, and when it ends.
    pub call: PendingCall,
    /// The token of the call. Give it to no one but the principal.
    pub token: String,
}

impl fmt::Debug for PendingApproval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The token approves the call.
        f.debug_struct("PendingApproval")
            .field("call", &self.call)
            .finish_non_exhaustive()
    }
}

/// A page of the calls of a principal that wait for approval. See [`Runtime::pending_approvals`].
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct PendingApprovals {
    /// The calls, those that expire first come first.
    pub calls: Vec<PendingApproval>,
    /// The place behind which the next page begins, or `None` after the last page.
    pub next: Option<ApprovalPlace>,
}

/// The most calls of a page.
const MAX_PAGE: u32 = 100;

/// # Calls that wait for a principal
impl Runtime {
    /// Returns a page of the calls that wait for approval in all open sessions of a principal, in
    /// whichever process they were requested: at most `limit` (and 100) of them, beginning after a
    /// place. A page may have fewer calls, and the list goes on if it has a `next`.
    ///
    /// The principal is the one that a session was opened with. Take it from the login, and not
    /// from the request: the tokens of the calls are in the answer. Join the session of a call
    /// under the same principal to decide on it. A call is only listed if this runtime's
    /// [signing key](super::RuntimeBuilder::signing_key) proves that it is as it was requested. So set a key to see the calls of other
    /// processes, and those from before a restart.
    ///
    /// ```
    /// # use tool_core::{Mode, Runtime, ToolCall, ToolContext, tool};
    /// # /// Delete a note.
    /// # #[tool(confirm)]
    /// # fn delete(id: u32) -> u32 {
    /// #     id
    /// # }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let runtime = Runtime::builder(ToolContext::builder().with(delete).build()?).build()?;
    /// let session = runtime.session("s-1", Mode::Text).principal("user:7").await?;
    /// session.call(ToolCall::new("call_1", "delete", r#"{"id": 7}"#)).await;
    /// drop(session);
    ///
    /// // Later, on the page of this user:
    /// let page = runtime.pending_approvals("user:7", None, 20).await?;
    /// let waiting = &page.calls[0];
    /// assert_eq!(waiting.call.payload(), r#"delete({"id":7})"#);
    ///
    /// // The user approves.
    /// let session = runtime.session(waiting.call.session.as_str(), waiting.call.mode).principal("user:7").await?;
    /// let response = session.approve(&waiting.token).await;
    /// assert_eq!(response.data_json(), Some("7"));
    /// assert!(runtime.pending_approvals("user:7", None, 20).await?.calls.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The store failed, or the principal is empty: the sessions without a principal may be those
    /// of different people.
    pub async fn pending_approvals(
        &self,
        principal: &str,
        after: Option<&ApprovalPlace>,
        limit: u32,
    ) -> Result<PendingApprovals, StoreError> {
        if principal.is_empty() {
            return Err(StoreError::new(
                "expected a principal; sessions without one may belong to different people",
            ));
        }
        let limit = limit.clamp(1, MAX_PAGE);
        let page = self.0.store.approvals_of(principal, after, limit).await?;

        let signer = &self.0.signer;
        let is_own = |call: &PendingCall| call.principal == principal && !call.is_stale();
        let mut calls = Vec::new();
        for call in page.calls.into_iter().filter(is_own) {
            if let Some(token) = signer.sealed_token(&call) {
                calls.push(PendingApproval { call, token });
            }
        }
        Ok(PendingApprovals {
            calls,
            next: page.next,
        })
    }
}
