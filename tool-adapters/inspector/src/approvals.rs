//! The calls that wait for approval, of all sessions of the runtime.

use crate::state::InspectorState;
use serde_json::{Value, json};
use tool_core::session::{PendingCall, StoreError, WaitingCall};

impl InspectorState {
    /// Returns the call that waits under an id.
    pub(crate) async fn waiting_call(&self, id: &str) -> Result<Option<WaitingCall>, StoreError> {
        Ok(self
            .runtime
            .waiting_calls()
            .await?
            .into_iter()
            .find(|waiting| waiting.call.id == id))
    }

    /// Returns the calls that wait as JSON, the oldest first. Their arguments are redacted. The
    /// digest is that of the whole call.
    pub(crate) async fn approvals_json(&self) -> Result<Value, StoreError> {
        let waiting = self.runtime.waiting_calls().await?;
        Ok(waiting
            .iter()
            .map(|waiting| self.approval_json(&waiting.call))
            .collect())
    }

    fn approval_json(&self, call: &PendingCall) -> Value {
        let mut shown = call.clone();
        shown.arguments = self.collector.redaction().json(&call.arguments);
        json!({
            "id": call.id,
            "session": call.session,
            "principal": call.principal,
            "tool": call.tool,
            "callId": call.call_id,
            "turn": call.turn,
            "summary": shown.summary(),
            "payload": shown.payload(),
            "isRedacted": shown.arguments != call.arguments,
            "digest": call.digest(),
            "expiresAtMs": call.expires_at,
        })
    }
}
