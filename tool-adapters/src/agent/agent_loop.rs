//! A session, a model, and their history.

use crate::agent::interrupt::InterruptHandle;
use crate::transport::call_note::{Decision, decision_note};
use std::borrow::Cow;
use tool_core::session::{History, Message, Model, Reply, Turn};
use tool_core::trace::{SpanHandle, SpanKind};
use tool_core::{ErrorKind, Session, ToolError, ToolResponse};

/// A conversation with a model. See the [module](super).
///
/// Dropping the future of a reply closes the connection to the provider and cancels running calls. The history stays valid.
#[derive(Debug)]
pub struct AgentLoop<M> {
    model: M,
    name: Option<Cow<'static, str>>,
    instructions: String,
    history: History,
    interrupt: InterruptHandle,
    /// True while a turn is open.
    in_turn: bool,
    /// True after the session has ended.
    has_ended: bool,
}

impl<M: Model> AgentLoop<M> {
    /// Creates a conversation with an empty history.
    pub fn new(session: Session, model: M) -> Self {
        Self::with_history(session, model, History::new())
    }

    /// Creates a conversation that continues a history, such as one from a database.
    pub fn with_history(session: Session, model: M, history: History) -> Self {
        Self {
            model,
            name: None,
            instructions: String::new(),
            history,
            interrupt: InterruptHandle::new(session),
            in_turn: false,
            has_ended: false,
        }
    }

    /// Sets the instructions for the model, which precede the guides of the tools.
    #[must_use]
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.instructions = text.into();
        self
    }

    /// Sets the name of the agent in spans and totals. Defaults to `agent`. An agent with a name always has spans.
    #[must_use]
    pub fn named(mut self, name: impl Into<Cow<'static, str>>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sends a message of the user, and returns the model's reply. Begins a new turn.
    ///
    /// If a tool of the last turn set a message for this one, the reply's text begins with it. After the session has ended,
    /// the reply has the error `SESSION_INACTIVE`.
    pub async fn prompt(&mut self, text: impl Into<String>) -> Reply {
        let (text, span) = (text.into(), self.span());
        let reply = span.inside(self.run_turn(Some(text))).await;
        close_span(span, reply)
    }

    /// Lets the model begin the conversation. Begins a new turn. Tools with `ignore_on_enter` are hidden from the model.
    pub async fn enter(&mut self) -> Reply {
        let span = self.span();
        let reply = span.inside(self.run_turn(None)).await;
        close_span(span, reply)
    }

    /// Lets the model continue in the same turn, such as after [`approve`](Self::approve).
    pub async fn resume(&mut self) -> Reply {
        let span = self.span();
        let reply = span.inside(self.reply(Some(String::new()))).await;
        close_span(span, reply)
    }

    /// Approves a call that waits for confirmation, and runs it. Adds its outcome to the history.
    pub async fn approve(&mut self, token: &str) -> ToolResponse {
        let span = self.span();
        let response = span.inside(self.session().approve(token)).await;
        span.end();
        self.note_decision(response, Decision::Approved)
    }

    /// Denies a call that waits for confirmation. Adds that to the history.
    pub async fn deny(&mut self, token: &str) -> ToolResponse {
        let response = self.session().deny(token).await;
        self.note_decision(response, Decision::Denied)
    }

    /// Ends the turn. Returns `None` if none is open. Carries out `END_VOICE_SESSION`. If a tool set a message for the next
    /// turn, the host has to speak it; the history contains it as a message of the model.
    pub async fn end_turn(&mut self) -> Option<Turn> {
        if !std::mem::take(&mut self.in_turn) {
            return None;
        }
        let turn = self.session().next_turn().await;
        self.has_ended = turn.ended;
        if let Some(text) = turn.pending_message.clone() {
            self.history.push(Message::Assistant { text: Some(text), calls: Vec::new(), native: None });
        }
        Some(turn)
    }

    /// Replaces the model. The history stays. Parts in the old provider's own form are kept for that provider; the new model
    /// reads texts, calls and results.
    pub fn set_model(&mut self, model: M) {
        self.model = model;
    }

    /// Returns the same conversation with a model of another type.
    pub fn with_model<N: Model>(self, model: N) -> AgentLoop<N> {
        let Self { name, instructions, history, interrupt, in_turn, has_ended, .. } = self;
        AgentLoop { model, name, instructions, history, interrupt, in_turn, has_ended }
    }

    /// Returns the model.
    pub fn model_mut(&mut self) -> &mut M {
        &mut self.model
    }

    /// Returns the history.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// Returns the history for changes, such as to shorten it.
    pub fn history_mut(&mut self) -> &mut History {
        &mut self.history
    }

    /// Returns the session in which tools are called.
    pub fn session(&self) -> &Session {
        self.interrupt.session()
    }

    /// Returns true after the session has ended, which a tool may request.
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Returns a handle that interrupts a reply from another task.
    pub fn interrupt_handle(&self) -> InterruptHandle {
        self.interrupt.clone()
    }

    /// Cancels calls that still run after a reply. To interrupt a reply, use [`interrupt_handle`](Self::interrupt_handle).
    pub fn interrupt(&self) -> usize {
        self.interrupt.interrupt()
    }

    fn span(&self) -> SpanHandle {
        let Some(name) = &self.name else { return SpanHandle::open_if_wanted(SpanKind::Agent, "agent") };
        SpanHandle::open(SpanKind::Agent, name.clone())
    }

    async fn run_turn(&mut self, text: Option<String>) -> Reply {
        let pending = self.end_turn().await.and_then(|turn| turn.pending_message);
        let mut reply = Reply::default();
        if self.has_ended {
            reply.error = Some(ToolError::session_inactive("the session has ended; open another one"));
        } else {
            self.in_turn = true;
            reply = self.reply(text).await;
        }
        reply.text = match (pending, reply.text.take()) {
            (Some(pending), Some(text)) => Some(format!("{pending}\n\n{text}")),
            (pending, text) => pending.or(text),
        };
        reply
    }

    /// Returns the reply to a text. Without a text the model begins.
    async fn reply(&mut self, text: Option<String>) -> Reply {
        let mut model = self.interrupt.wrap(&mut self.model, &self.instructions);
        let session = self.interrupt.session();
        let mut reply = match text {
            Some(text) => session.reply(&mut model, &mut self.history, text).await,
            None => session.reply_on_enter(&mut model, &mut self.history).await,
        };
        // The session does not see an interruption that came before its loop began.
        if model.was_interrupted() {
            reply.interrupted = true;
            reply.error.take_if(|error| error.kind() == ErrorKind::Cancelled);
        }
        reply
    }

    fn note_decision(&mut self, response: ToolResponse, decision: Decision) -> ToolResponse {
        self.history.extend(decision_note(&response, decision).map(Message::User));
        response
    }
}

fn close_span(span: SpanHandle, reply: Reply) -> Reply {
    match &reply.error {
        Some(error) => span.fail_with(error),
        None if reply.interrupted => drop(span),
        None => span.end(),
    }
    reply
}
