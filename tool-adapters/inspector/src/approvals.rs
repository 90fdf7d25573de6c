//! The calls that wait for approval, of all sessions of the runtime.

use crate::state::InspectorState;
use serde_json::{Value, json};
use tool_core::session::{PendingCall, StoreError, WaitingCall};
use tool_core::text::escape_invisible_json;

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
        let redaction = self.collector.redaction();
        let mut shown = call.clone();
        shown.arguments = redaction.json(&call.arguments);
        // A person can only change what the page shows.
        let is_redacted = shown.arguments != call.arguments;
        let editable = (!is_redacted).then(|| escape_invisible_json(&call.arguments));
        let reasons = call
            .reasons
            .iter()
            .map(|reason| json!({"source": reason.source, "text": redaction.text(&reason.text)}));
        json!({
            "id": call.id,
            "session": call.session,
            "principal": call.principal,
            "tool": call.tool,
            "callId": call.call_id,
            "turn": call.turn,
            "summary": shown.summary(),
            "arguments": shown.argument_lines(),
            "reasons": reasons.collect::<Vec<_>>(),
            "argumentsJson": editable,
            "payload": shown.payload(),
            "isRedacted": is_redacted,
            "digest": call.digest(),
            "expiresAtMs": call.expires_at,
        })
    }
}
