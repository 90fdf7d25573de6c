//! Decisions of persons that are being carried out.

use tool_core::session::Decision;
use tool_core::{ErrorKind, Session, ToolCall, ToolError, ToolResponse};

/// A decision whose outcome is not in the history yet, and its call.
#[derive(Debug)]
pub(crate) struct OpenDecision {
    pub(crate) decision: Decision,
    pub(crate) call: ToolCall,
}

impl OpenDecision {
    /// Returns what became of the decision, after the work on it was dropped. `None` if that cannot be
    /// told yet: the call may still be running, or the store does not answer.
    pub(crate) async fn outcome(&self, session: &Session) -> Option<ToolResponse> {
        match session.pending_call(self.decision.token()).await {
            Ok(_) => {
                let message = "the decision was given up before the call ran, and the call waits for another one";
                Some(session.refuse(&self.call, ToolError::cancelled(message)))
            }
            Err(error) if is_gone(error.kind()) => {
                let is_approved = self.decision.is_approval();
                let answered = session.answer_lost_decision(&self.call, is_approved);
                answered.await.ok()
            }
            Err(_) => None,
        }
    }
}

/// Returns true for the error of a token under which no call waits any more.
fn is_gone(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::SessionInactive)
}
