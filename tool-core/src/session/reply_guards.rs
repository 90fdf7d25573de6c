//! The guards of one reply.

use crate::call::{RunContext, ToolError};
use crate::session::durable_steps::{DurableSteps, record_verdict};
use crate::session::guards::{AnswerVerdict, Guards};
use crate::session::inner::SessionInner;
use crate::session::message::Message;
use std::sync::Arc;

/// The text for the user if the model gave no answer that the guards let pass.
const NO_ANSWER: &str = "No answer has passed the checks of this service.";

/// The guards of the answers of one reply.
pub(crate) struct ReplyGuards<'a> {
    guards: &'a Guards,
    ctx: RunContext,
    /// The engine that records the verdicts.
    steps: Option<&'a dyn DurableSteps>,
    /// The number of times that the model was asked again.
    asked_again: u32,
}

impl<'a> ReplyGuards<'a> {
    /// Returns the guards of a reply in this session. `None` if no guard checks answers.
    pub(crate) fn new(
        session: &'a Arc<SessionInner>,
        steps: Option<&'a dyn DurableSteps>,
    ) -> Option<Self> {
        let guards = &session.runtime.guards;
        guards.has_answer().then(|| Self {
            guards,
            ctx: session.current_context(),
            steps,
            asked_again: 0,
        })
    }

    /// Returns the decision on an answer. An answer after the last one that may be asked for again
    /// is refused.
    pub(crate) async fn check(
        &mut self,
        text: &str,
        history: &[Message],
    ) -> Result<AnswerVerdict, ToolError> {
        let checking = self.guards.check_answer(&self.ctx, text, history);
        let verdict = match self.steps {
            Some(steps) => record_verdict(steps, "guards of the answer", checking).await?,
            None => checking.await?,
        };
        if !matches!(verdict, AnswerVerdict::AskAgain(_)) {
            return Ok(verdict);
        }
        if self.asked_again == Guards::MAX_ASKED_AGAIN {
            return Ok(AnswerVerdict::Refuse(NO_ANSWER.to_owned()));
        }
        self.asked_again += 1;
        Ok(verdict)
    }
}
