//! Decisions of persons that are being carried out.

use serde_json::Value;
use tool_core::call::ResultForm;
use tool_core::session::{Decision, NOTE, decision_note};
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

/// The outcome of a decision.
pub(crate) struct DecisionOutcome {
    pub(crate) response: ToolResponse,
    /// True if the call was refused before it ran, and waits for another decision.
    waits_on: bool,
}

impl DecisionOutcome {
    /// Takes the response to a decision, and looks whether its call still waits.
    pub(crate) async fn of(session: &Session, decision: &Decision, response: ToolResponse) -> Self {
        let is_refusal = !response.is_ok() && !response.meta().tool().is_empty();
        let waits_on = is_refusal && session.pending_call(decision.token()).await.is_ok();
        Self { response, waits_on }
    }

    /// Takes the response to a decision whose call does not wait any more.
    pub(crate) fn over(response: ToolResponse) -> Self {
        Self {
            response,
            waits_on: false,
        }
    }

    /// Returns the note for the model. `None` if no call waited.
    pub(crate) fn note(&self, session: &Session, decision: &Decision) -> Option<String> {
        let mark = session.decision_mark(decision.token())?;
        if self.waits_on {
            return Some(waiting_note(&self.response, &mark));
        }
        decision_note(&self.response, decision.is_approval(), &mark)
    }
}

fn waiting_note(response: &ToolResponse, mark: &str) -> String {
    let meta = response.meta();
    let call_id = meta.call_id().unwrap_or_default().escape_debug();
    let tool = meta.tool().escape_debug();
    // Quoted, so that it cannot look like another note.
    let reason = Value::from(response.for_model(ResultForm::Plain).text);
    format!(
        "{mark} {NOTE} The call `{call_id}` of `{tool}` waited for a person. A person has decided on it, and the decision could \
         not be carried out: the call was not run and waits for another one, so do not make it again. The reason: {reason}"
    )
}

/// Returns true for the error of a token under which no call waits any more.
fn is_gone(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::SessionInactive)
}
