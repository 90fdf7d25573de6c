//! Being interrupted, while a model speaks too.

use std::borrow::Cow;
use std::sync::Arc;
use tokio::sync::watch;
use tool_core::__shared::cancelled;
use tool_core::session::{Model, ModelInfo, ModelRequest, ModelStep};
use tool_core::{Session, ToolError};

/// Interrupts a conversation from elsewhere: the user has spoken, or closed the window. Cheap to clone.
#[derive(Clone, Debug)]
pub struct InterruptHandle {
    session: Session,
    count: Arc<watch::Sender<u64>>,
}

impl InterruptHandle {
    pub(crate) fn new(session: Session) -> Self {
        Self { session, count: Arc::new(watch::Sender::new(0)) }
    }

    /// Ends the reply that is under way: calls that allow it are cancelled, and the model is not listened to any
    /// longer. How many calls there were. With no reply under way nothing happens to the next one.
    pub fn interrupt(&self) -> usize {
        // First the session: when the model's step ends, the loop asks the session why.
        let calls = self.session.interrupt();
        self.count.send_modify(|count| *count += 1);
        calls
    }

    pub(crate) fn session(&self) -> &Session {
        &self.session
    }

    /// `instructions` stand before those of the tools.
    pub(crate) fn listen<'a, M>(&self, model: &'a mut M, instructions: &'a str) -> Interruptible<'a, M> {
        let count = self.count.subscribe();
        let before = *count.borrow();
        Interruptible { model, instructions, count, before }
    }
}

/// A model whose step ends when somebody interrupts.
pub(crate) struct Interruptible<'a, M> {
    model: &'a mut M,
    instructions: &'a str,
    count: watch::Receiver<u64>,
    before: u64,
}

impl<M> Interruptible<'_, M> {
    pub(crate) fn was_interrupted(&self) -> bool {
        *self.count.borrow() != self.before
    }
}

impl<M: Model> Model for Interruptible<'_, M> {
    async fn step(&mut self, request: ModelRequest<'_>) -> Result<ModelStep, ToolError> {
        let before = self.before;
        let instructions = joined(self.instructions, request.instructions);
        let request = ModelRequest { instructions: &instructions, ..request };
        tokio::select! {
            biased;
            _ = self.count.wait_for(|count| *count != before) => Err(cancelled("the turn was interrupted")),
            step = self.model.step(request) => step,
        }
    }

    fn about(&self) -> ModelInfo {
        self.model.about()
    }
}

/// What the host tells the model, and then what the tools' guides do.
fn joined<'a>(ours: &'a str, tools: &'a str) -> Cow<'a, str> {
    match (ours, tools) {
        ("", text) | (text, "") => Cow::Borrowed(text),
        _ => Cow::Owned(format!("{ours}\n\n{tools}")),
    }
}
