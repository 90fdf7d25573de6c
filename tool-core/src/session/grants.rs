//! Grants: approvals of calls before they are made, for one session and for a time.

use crate::call::tool_call::GrantTerms;
use crate::schema::timestamp::Timestamp;
use crate::session::approvals::CLOCK_DIFFERENCE;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The calls that a [`CallGrant`] covers.
///
/// ```
/// use std::time::Duration;
/// use tool_core::session::{Decision, GrantScope};
///
/// let decision = Decision::approve("token").always_for_these_arguments(Duration::from_secs(600));
/// assert_eq!(decision.grant_scope(), Some(GrantScope::Arguments));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum GrantScope {
    /// All calls of the tool.
    Tool,
    /// The calls of the tool with equal arguments.
    Arguments,
}

impl GrantScope {
    pub(crate) fn of(terms: GrantTerms) -> Self {
        if terms.only_these_arguments {
            Self::Arguments
        } else {
            Self::Tool
        }
    }

    /// Returns the name of the scope: `tool` or `arguments`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Arguments => "arguments",
        }
    }
}

/// A person's approval of calls that are not made yet, for one session and for a time.
///
/// A person gives it with the approval of a call:
/// [`Decision::always_for_tool`](crate::session::Decision::always_for_tool). The session's store
/// keeps it, and it ends with the session. [`Session::grants`](crate::Session::grants) lists the
/// grants, and [`Session::revoke`](crate::Session::revoke) ends one.
///
/// ```
/// use std::time::Duration;
/// use tool_core::session::Decision;
/// use tool_core::{Mode, Runtime, ToolCall, ToolContext, tool};
///
/// /// Delete a note.
/// #[tool(category = "action", confirm)]
/// fn delete(id: u32) -> u32 {
///     id
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let runtime = Runtime::builder(ToolContext::builder().with(delete).build()?).build()?;
/// let session = runtime.session("s-1", Mode::Text).principal("user:7").await?;
/// let asked = session.call(ToolCall::new("call_1", "delete", r#"{"id": 7}"#)).await;
/// let token = &asked.meta().confirmation().ok_or("it waits")?.token;
/// let decision = Decision::approve(token).always_for_tool(Duration::from_secs(600));
/// session.decide(&decision, None).await;
///
/// // The next call runs without a question.
/// let response = session.call(ToolCall::new("call_2", "delete", r#"{"id": 8}"#)).await;
/// assert_eq!(response.data_json(), Some("8"));
/// let grants = session.grants().await?;
/// assert_eq!((grants[0].tool.as_str(), grants[0].by.as_str()), ("delete", "user:7"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CallGrant {
    /// The key of the grant in its session: 32 hexadecimal digits.
    pub id: String,
    /// The tool's name.
    pub tool: String,
    /// The calls of the tool that are approved.
    pub scope: GrantScope,
    /// The digest of the call with which the grant was given, as in
    /// [`PendingCall::digest`](crate::session::PendingCall::digest).
    pub digest: String,
    /// The call with which the grant was given, as in
    /// [`PendingCall::summary`](crate::session::PendingCall::summary).
    pub summary: String,
    /// The version of the tools. With tools of another version the grant covers nothing.
    pub version: String,
    /// A digest of the settings of the agent's toolsets, with which it is the same; empty if the
    /// tools belong to no agent.
    pub settings: String,
    /// The person who gave the grant.
    pub by: String,
    /// The time at which it was given.
    pub given_at: Timestamp,
    /// The time at which it ends, by the clock of the process that took it. The store ends it by
    /// its own clock.
    pub ends_at: Timestamp,
    /// A proof that a runtime with the same key has made the grant for this session.
    pub proof: String,
}

impl CallGrant {
    /// Returns true if the grant has ended long ago by this process's clock.
    pub(crate) fn is_stale(&self) -> bool {
        *self.ends_at < jiff::Timestamp::now() - CLOCK_DIFFERENCE
    }
}

/// A grant that is to be kept in place of the call with which it was given.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct GrantRequest<'a> {
    /// The id of the call, which waits for approval.
    pub call: &'a str,
    /// The grant.
    pub grant: &'a CallGrant,
    /// The time after which it ends.
    pub lifetime: Duration,
    /// The grants that the session may have.
    pub most: u32,
}

impl<'a> GrantRequest<'a> {
    /// Creates a request.
    pub fn new(call: &'a str, grant: &'a CallGrant, lifetime: Duration, most: u32) -> Self {
        Self {
            call,
            grant,
            lifetime,
            most,
        }
    }
}

/// A store's answer to a [`GrantRequest`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GrantVerdict {
    /// The call no longer waits, and the grant is kept.
    Granted,
    /// The session has as many grants as it may have. The call still waits.
    Full,
    /// No such call waits: it was decided on, it has expired, or the session is over.
    NotFound,
}
