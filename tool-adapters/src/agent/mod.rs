//! The agent loop: a conversation with a model that calls tools.
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
//! // A real model is `HttpModel::new(Provider::OpenAiChat, "gpt-5").api_key(key)`, with the feature `http`.
//! let script = ScriptedModel::new().calls([ToolCall::new("call_1", "add", json!({"a": 1, "b": 2}))]).says("It is 3.");
//! let mut agent = AgentLoop::new(session, script);
//! let reply = agent.prompt("What is 1 + 2?").await;
//! assert_eq!(reply.text.as_deref(), Some("It is 3."));
//!
//! // The history continues with another model.
//! agent.set_model(ScriptedModel::new().says("You asked for 1 + 2."));
//! let reply = agent.prompt("What did I ask?").await;
//! assert_eq!(reply.text.as_deref(), Some("You asked for 1 + 2."));
//! # Ok(())
//! # }
//! ```
//!
//! # Turns
//!
//! Each [`prompt`](AgentLoop::prompt) is one turn of the session, with new budgets and loop counts. A turn lasts until the
//! next one begins, so that a call which is approved after the reply still belongs to it.
//! [`end_turn`](AgentLoop::end_turn) ends it earlier. The policy's `max_tool_steps` limits the steps of calls of a reply.
//!
//! # Spans
//!
//! Each reply and each approval is an `agent` span with the name of [`named`](AgentLoop::named). It contains the requests to
//! the model, the calls, and their cost. An agent without a name has spans inside another span, or once the process
//! collects spans ([`start`](tool_core::trace::start)). See [`trace`](tool_core::trace).
//!
//! # Confirmation
//!
//! A call that needs confirmation is answered `CONFIRMATION_REQUIRED`, and the model reports that. Its id then has a
//! result, so the outcome of [`approve`](AgentLoop::approve) or [`deny`](AgentLoop::deny) goes into the history as a note in
//! a user message, which every provider accepts at any point. The note says that the application wrote it, names the call,
//! and marks the result as data. [`resume`](AgentLoop::resume) lets the model respond to it. A step may ask for several
//! confirmations, so decide all of them first:
//!
//! ```
//! # use tool_adapters::agent::AgentLoop;
//! # use tool_core::session::{Model, Reply};
//! # async fn agree<M: Model>(agent: &mut AgentLoop<M>, mut reply: Reply) -> Reply {
//! loop {
//!     let pending = reply.confirmations().cloned().collect::<Vec<_>>();
//!     if pending.is_empty() {
//!         return reply;
//!     }
//!     for confirmation in &pending {
//!         agent.approve(&confirmation.token).await; // or `deny`, as the user decides
//!     }
//!     reply = agent.resume().await;
//! }
//! # }
//! ```

mod agent_loop;
mod interrupt;

#[cfg(test)]
mod tests;

pub use crate::agent::agent_loop::AgentLoop;
pub use crate::agent::interrupt::InterruptHandle;
pub use crate::transport::RetryPolicy;
