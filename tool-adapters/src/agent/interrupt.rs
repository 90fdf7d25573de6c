//! The interruption of a reply, even while the model is answering.

use std::borrow::Cow;
use std::sync::Arc;
use tokio::sync::watch;
use tool_core::session::{Model, ModelInfo, ModelRequest, ModelStep};
use tool_core::{Session, ToolError};

/// A handle that interrupts a conversation from another task, such as when the user speaks or leaves. Cheap to clone.
#[derive(Clone, Debug)]
pub struct InterruptHandle {
    session: Session,
    count: Arc<watch::Sender<u64>>,
}

impl InterruptHandle {
    pub(crate) fn new(session: Session) -> Self {
        Self { session, count: Arc::new(watch::Sender::new(0)) }
    }

    /// Ends the current reply: cancels the calls that allow it, and drops the answer of the model. Returns the number of
    /// cancelled calls. Does not affect later replies.
    pub fn interrupt(&self) -> usize {
        // The session first, as the loop asks it for the reason when the model's step ends.
        let calls = self.session.interrupt();
        self.count.send_modify(|count| *count += 1);
        calls
    }

    pub(crate) fn session(&self) -> &Session {
        &self.session
    }

    /// Wraps a model so that its step ends at the next interruption. Puts `instructions` in front of the tools'.
    pub(crate) fn wrap<'a, M>(&self, model: &'a mut M, instructions: &'a str) -> InterruptibleModel<'a, M> {
        let count = self.count.subscribe();
        let initial = *count.borrow();
        InterruptibleModel { model, instructions, count, initial }
    }
}

pub(crate) struct InterruptibleModel<'a, M> {
    model: &'a mut M,
    instructions: &'a str,
    count: watch::Receiver<u64>,
    initial: u64,
}

impl<M> InterruptibleModel<'_, M> {
    pub(crate) fn was_interrupted(&self) -> bool {
        *self.count.borrow() != self.initial
    }
}

impl<M: Model> Model for InterruptibleModel<'_, M> {
    async fn step(&mut self, request: ModelRequest<'_>) -> Result<ModelStep, ToolError> {
        let initial = self.initial;
        let instructions = join_instructions(self.instructions, request.instructions);
        let request = ModelRequest { instructions: &instructions, ..request };
        tokio::select! {
            biased;
            _ = self.count.wait_for(|count| *count != initial) => Err(ToolError::cancelled("the turn was interrupted")),
            step = self.model.step(request) => step,
        }
    }

    fn about(&self) -> ModelInfo {
        self.model.about()
    }
}

fn join_instructions<'a>(host: &'a str, tools: &'a str) -> Cow<'a, str> {
    match (host, tools) {
        ("", text) | (text, "") => Cow::Borrowed(text),
        _ => Cow::Owned(format!("{host}\n\n{tools}")),
    }
}
