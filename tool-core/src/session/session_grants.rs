//! The list of the grants of a session, and the end of one.

use crate::session::grants::CallGrant;
use crate::session::handle::Session;
use crate::session::pipeline::granted;
use crate::session::store::StoreError;

/// # Grants
impl Session {
    /// Returns the [grants](CallGrant) that have neither ended nor been revoked, the oldest first.
    ///
    /// # Errors
    ///
    /// The store failed.
    pub async fn grants(&self) -> Result<Vec<CallGrant>, StoreError> {
        let mut grants = self.0.record.grants().await?;
        // Others have no effect: they were not given here.
        grants.retain(|grant| granted::is_proven(&self.0, grant));
        grants.sort_by(|one, other| (one.given_at, &one.id).cmp(&(other.given_at, &other.id)));
        Ok(grants)
    }

    /// Ends a grant, and returns false if it is over. A call that has begun to run is not affected;
    /// every other one asks a person again.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use tool_core::session::Decision;
    /// # use tool_core::{ErrorKind, Mode, Runtime, ToolCall, ToolContext, tool};
    /// # /// Delete a note.
    /// # #[tool(confirm)]
    /// # fn delete(id: u32) -> u32 {
    /// #     id
    /// # }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let runtime = Runtime::builder(ToolContext::builder().with(delete).build()?).build()?;
    /// # let session = runtime.session("s-1", Mode::Text).await?;
    /// # let asked = session.call(ToolCall::new("call_1", "delete", r#"{"id": 7}"#)).await;
    /// # let token = &asked.meta().confirmation().ok_or("it waits")?.token;
    /// let decision = Decision::approve(token).always_for_tool(Duration::from_secs(600));
    /// session.decide(&decision, None).await;
    /// for grant in session.grants().await? {
    ///     session.revoke(&grant.id).await?;
    /// }
    /// let response = session.call(ToolCall::new("call_2", "delete", r#"{"id": 8}"#)).await;
    /// assert_eq!(response.error().map(|error| error.kind), Some(ErrorKind::ConfirmationRequired));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The store failed, and the grant may be in force.
    pub async fn revoke(&self, grant: &str) -> Result<bool, StoreError> {
        let is_revoked = self.0.record.revoke(grant).await?;
        if is_revoked {
            let session = self.id().as_str().escape_debug();
            tracing::info!(%session, grant = %grant.escape_debug(), "a grant was revoked");
        }
        Ok(is_revoked)
    }

    /// Returns true if calls of a tool may be approved in advance, so that you can offer it to the
    /// person: the tool has no option `ask_each_time`, and the policy allows grants.
    pub fn may_grant(&self, tool: &str) -> bool {
        self.0.tools.find(tool).is_some() && granted::check_allowed(&self.0, tool).is_ok()
    }
}
