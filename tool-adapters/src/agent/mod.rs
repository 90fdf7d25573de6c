//! A conversation with a model that calls tools: a session, a model, and what was said.
//!
//! ```
//! use serde_json::json;
//! use tool_adapters::agent::AgentLoop;
//! use tool_core::testing::ScriptedModel;
//! use tool_core::{Mode, Runtime, ToolCall, ToolContext, tool};
//!
//! /// Add two numbers.
//! #[tool]
//! fn add(a: i64, b: i64) -> i64 {
//!     a + b
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let runtime = Runtime::builder(ToolContext::builder().with(add).build()?).build()?;
//! let session = runtime.session("s-1", Mode::Text).await?;
//!
//! // In the place of the script: `HttpModel::new(Provider::OpenAiChat, "gpt-5").api_key(key)`, feature `http`.
//! let script = ScriptedModel::new().calls([ToolCall::new("call_1", "add", json!({"a": 1, "b": 2}))]).says("It is 3.");
//! let mut agent = AgentLoop::new(session, script);
//! let reply = agent.say("What is 1 + 2?").await;
//! assert_eq!(reply.text.as_deref(), Some("It is 3."));
//!
//! // Another model goes on with the same history.
//! agent.set_model(ScriptedModel::new().says("You asked for 1 + 2."));
//! let reply = agent.say("What did I ask?").await;
//! assert_eq!(reply.text.as_deref(), Some("You asked for 1 + 2."));
//! # Ok(())
//! # }
//! ```
//!
//! # Turns
//!
//! Each [`say`](AgentLoop::say) is one turn of the session: budgets and loop counts begin anew. A turn lasts until the
//! next begins, so that what a person approves after the reply still belongs to it; [`end_turn`](AgentLoop::end_turn)
//! ends it earlier. How many steps of calls a reply takes is the policy's `max_tool_steps`.
//!
//! # Spans
//!
//! Each reply, and what a person approves, is an `agent` span of the agent's name ([`named`](AgentLoop::named)), with
//! the questions to the model, the calls, and their cost in it. One without a name has spans where tools have: inside
//! of another, or once the process collects ([`start`](tool_core::trace::start)). See [`trace`](tool_core::trace).
//!
//! # What a person has to approve
//!
//! Such a call is answered `CONFIRMATION_REQUIRED`, and the model says so. Its id has its result with that, so what
//! [`approve`](AgentLoop::approve) or [`deny`](AgentLoop::deny) gives later goes into the history as a note in the
//! user's place, which is the one form that every provider takes at any point. It says that the application wrote it,
//! which call it is about, and that a result is data. [`resume`](AgentLoop::resume) lets the model speak to it at once. A step may have asked for several
//! approvals, so see to all of them first:
//!
//! ```
//! # use tool_adapters::agent::AgentLoop;
//! # use tool_core::session::{Model, Reply};
//! # async fn agree<M: Model>(agent: &mut AgentLoop<M>, mut reply: Reply) -> Reply {
//! loop {
//!     let asked = reply.confirmations().cloned().collect::<Vec<_>>();
//!     if asked.is_empty() {
//!         return reply;
//!     }
//!     for confirmation in &asked {
//!         agent.approve(&confirmation.token).await; // or `deny`, as the person says
//!     }
//!     reply = agent.resume().await;
//! }
//! # }
//! ```

mod interrupt;
pub(crate) mod notes;

#[cfg(test)]
mod tests;

pub use crate::agent::interrupt::InterruptHandle;
pub use crate::transport::RetryPolicy;

use crate::agent::notes::{Word, note};
#[cfg(feature = "websocket")]
use crate::agent::notes::{call_id, later};
use crate::providers::provider::Provider;
use crate::telemetry::prices;
use crate::transport::api_key::{ApiKey, Defaults, address, told};
#[cfg(feature = "http")]
use crate::transport::api_key::{logged, setting};
use std::borrow::Cow;
use tool_core::session::{History, Message, Model, ModelInfo, Reply, Turn};
use tool_core::trace::{SpanHandle, SpanKind};
use tool_core::{ErrorKind, Session, ToolError, ToolResponse};

/// A conversation: see the [module](self).
///
/// Whoever drops the future of a reply has heard enough: the connection to the provider is closed, calls that run are
/// cancelled, and the history stays whole.
#[derive(Debug)]
pub struct AgentLoop<M> {
    model: M,
    name: Option<Cow<'static, str>>,
    instructions: String,
    history: History,
    interrupter: InterruptHandle,
    /// Whether a turn is open that has to be ended before the next one.
    open: bool,
    /// Whether the session is over.
    ended: bool,
}

impl<M: Model> AgentLoop<M> {
    /// A conversation that begins.
    pub fn new(session: Session, model: M) -> Self {
        Self::with_history(session, model, History::new())
    }

    /// A conversation that goes on, such as one that was kept in a database.
    pub fn with_history(session: Session, model: M, history: History) -> Self {
        Self {
            model,
            name: None,
            instructions: String::new(),
            history,
            interrupter: InterruptHandle::new(session),
            open: false,
            ended: false,
        }
    }

    /// What the model is told besides the guides of the tools, and before them: who it is, and how to go about it.
    #[must_use]
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.instructions = text.into();
        self
    }

    /// What the agent is called, in spans and sums; `agent` unless told. An agent with a name always has spans.
    #[must_use]
    pub fn named(mut self, name: impl Into<Cow<'static, str>>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Says something to the model and lets it reply. A new turn.
    ///
    /// What a tool of the turn before wanted said in this one stands before the reply's text. Once the session has
    /// ended, the reply is the error `SESSION_INACTIVE`.
    pub async fn say(&mut self, text: impl Into<String>) -> Reply {
        let (text, span) = (text.into(), self.span());
        let reply = span.inside(self.turn(Some(text))).await;
        closed(span, reply)
    }

    /// Lets the model speak first, as the agent enters the conversation: tools that are `ignore_on_enter` are not shown
    /// to it. L15
    pub async fn enter(&mut self) -> Reply {
        let span = self.span();
        let reply = span.inside(self.turn(None)).await;
        closed(span, reply)
    }

    /// Lets the model go on in the same turn, such as after [`approve`](Self::approve).
    pub async fn resume(&mut self) -> Reply {
        let span = self.span();
        let reply = span.inside(self.reply(Some(String::new()))).await;
        closed(span, reply)
    }

    /// Runs a call that waited for a person, who agreed to it. What came of it is in the history too.
    pub async fn approve(&mut self, token: &str) -> ToolResponse {
        let span = self.span();
        let response = span.inside(self.session().approve(token)).await;
        span.end();
        self.noted(response, Word::Approved)
    }

    /// Answers a call that waited for a person, who did not agree to it. That is in the history too.
    pub async fn deny(&mut self, token: &str) -> ToolResponse {
        let response = self.session().deny(token).await;
        self.noted(response, Word::Denied)
    }

    /// Ends the turn; `None` where none is open. An `END_VOICE_SESSION` is carried out, and what a tool wanted said next
    /// is handed over: it is for the host to say, and stands in the history as said.
    pub async fn end_turn(&mut self) -> Option<Turn> {
        if !std::mem::take(&mut self.open) {
            return None;
        }
        let turn = self.session().next_turn().await;
        self.ended = turn.ended;
        if let Some(text) = turn.pending_message.clone() {
            self.history.push(Message::Assistant { text: Some(text), calls: Vec::new(), native: None });
        }
        Some(turn)
    }

    /// Another model from here on. The history stays: what the earlier one's provider alone can read is kept for it,
    /// and the new one reads texts, calls and results.
    pub fn set_model(&mut self, model: M) {
        self.model = model;
    }

    /// The same conversation with a model of another type.
    pub fn with_model<N: Model>(self, model: N) -> AgentLoop<N> {
        let Self { name, instructions, history, interrupter, open, ended, .. } = self;
        AgentLoop { model, name, instructions, history, interrupter, open, ended }
    }

    /// The model.
    pub fn model_mut(&mut self) -> &mut M {
        &mut self.model
    }

    /// What was said.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// What was said, to be changed: to add to it, or to make it shorter.
    pub fn history_mut(&mut self) -> &mut History {
        &mut self.history
    }

    /// The session in which tools are called.
    pub fn session(&self) -> &Session {
        self.interrupter.session()
    }

    /// Whether the session is over, as a tool may have wanted.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// What interrupts a reply from another task.
    pub fn interrupter(&self) -> InterruptHandle {
        self.interrupter.clone()
    }

    /// Cancels calls that still run after a reply; [`interrupter`](Self::interrupter) is for replies under way.
    pub fn interrupt(&self) -> usize {
        self.interrupter.interrupt()
    }

    /// What the agent does next, as a span. S1
    fn span(&self) -> SpanHandle {
        let Some(name) = &self.name else { return SpanHandle::open_if_wanted(SpanKind::Agent, "agent") };
        SpanHandle::open(SpanKind::Agent, name.clone())
    }

    async fn turn(&mut self, text: Option<String>) -> Reply {
        let opening = self.end_turn().await.and_then(|turn| turn.pending_message);
        let mut reply = Reply::default();
        if self.ended {
            reply.error = Some(ToolError::session_inactive("the session has ended; open another one"));
        } else {
            self.open = true;
            reply = self.reply(text).await;
        }
        reply.text = match (opening, reply.text.take()) {
            (Some(opening), Some(text)) => Some(format!("{opening}\n\n{text}")),
            (opening, text) => opening.or(text),
        };
        reply
    }

    /// `None`: the model speaks first.
    async fn reply(&mut self, text: Option<String>) -> Reply {
        let mut model = self.interrupter.listen(&mut self.model, &self.instructions);
        let session = self.interrupter.session();
        let mut reply = match text {
            Some(text) => session.reply(&mut model, &mut self.history, text).await,
            None => session.reply_on_enter(&mut model, &mut self.history).await,
        };
        // Where it came before the loop had begun to look.
        if model.was_interrupted() {
            reply.interrupted = true;
            reply.error.take_if(|error| error.kind() == ErrorKind::Cancelled);
        }
        reply
    }

    fn noted(&mut self, response: ToolResponse, word: Word) -> ToolResponse {
        self.history.extend(note(&response, word).map(Message::User));
        response
    }
}

/// A reply whose span is closed.
fn closed(span: SpanHandle, reply: Reply) -> Reply {
    match &reply.error {
        Some(error) => span.fail_with(error),
        None if reply.interrupted => drop(span),
        None => span.end(),
    }
    reply
}

// ---- Which model it is, for spans and price tables.

/// Under the name that price tables have for who is paid: whose `address` it is, or else whose protocol. Many speak as
/// `OpenAI` does, and at an address that nobody knows the model's name has to tell.
pub(crate) fn about(provider: Provider, model: &str, address: &str) -> ModelInfo {
    let paid = prices::biller(address).or(provider.spec().biller);
    ModelInfo { model: model.to_owned().into(), provider: paid.map(Into::into) }
}
