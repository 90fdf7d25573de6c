//! Pages of the list of all calls of a principal that wait for approval.

use crate::session::approvals::PendingCall;
use serde::{Deserialize, Serialize};

/// A place in the list of the calls that wait for approval, behind which a page begins.
///
/// ```
/// use tool_core::session::ApprovalPlace;
///
/// let place = ApprovalPlace::new(1_795_000_000_000, "0".repeat(32));
/// assert_eq!(place.expires_at, 1_795_000_000_000);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ApprovalPlace {
    /// The time at which the call expires, in milliseconds by the store's clock.
    pub expires_at: u64,
    /// The call's id.
    pub id: String,
}

impl ApprovalPlace {
    /// Creates a place.
    pub fn new(expires_at: u64, id: impl Into<String>) -> Self {
        Self {
            expires_at,
            id: id.into(),
        }
    }
}

/// A page of the calls of a principal that wait for approval, as a store has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ApprovalPage {
    /// The calls: those that expire first come first, and of several that expire at once the one
    /// with the least id.
    pub calls: Vec<PendingCall>,
    /// The place behind which the next page begins, or `None` after the last page.
    pub next: Option<ApprovalPlace>,
}

impl ApprovalPage {
    /// Creates a page. For stores.
    pub fn new(calls: Vec<PendingCall>, next: Option<ApprovalPlace>) -> Self {
        Self { calls, next }
    }
}
