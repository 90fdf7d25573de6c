//! The AG-UI protocol, version 1.0: an agent behind a front end that speaks it.
//!
//! A front end sends a request with a [`RunInput`] in JSON. [`RunInput::agent_input`] is what the
//! agent replies to, and
//! [`RunStream`] gives the reply in the events of the protocol. [`RunEvent::to_sse`] is an event as a server-sent event. You
//! bring the web framework.
//!
//! ```
//! use futures_util::StreamExt;
//! use tool_adapters::ag_ui::{RunInput, RunStream};
//! use tool_adapters::agent::AgentLoop;
//! use tool_core::ToolContext;
//! use tool_core::testing::ScriptedModel;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let body = r#"{"threadId": "t-1", "runId": "r-1", "messages": [{"id": "m-1", "role": "user", "content": "Hi"}]}"#;
//! let run = RunInput::from_json(body.as_bytes())?;
//! let model = ScriptedModel::new().says("Hello");
//! let mut agent = AgentLoop::with_tools(ToolContext::builder().build()?, model).await?;
//!
//! let reply = agent.stream(run.agent_input()?);
//! let events = RunStream::new(reply, &run).map(|event| event.to_sse()).collect::<String>().await;
//! assert!(events.starts_with(r#"data: {"type":"RUN_STARTED","threadId":"t-1","runId":"r-1","protocolVersion":"1.0"}"#));
//! # Ok(())
//! # }
//! ```
//!
//! # The conversation
//!
//! The agent's own history is the conversation. Of the messages in a request, only the last one
//! counts, so a front end cannot change what was said before. The thread id is the client's word:
//! find the conversation by who is logged in. Tools, context and state of the front end are not
//! used.
//!
//! # Events
//!
//! | of the agent | in the protocol |
//! |---|---|
//! | [`Started`](AgentEvent::Started) | `RUN_STARTED` |
//! | [`Reasoning`](AgentEvent::Reasoning) | `REASONING_START`, `REASONING_MESSAGE_START`, `REASONING_MESSAGE_CONTENT`, and their ends |
//! | [`Text`](AgentEvent::Text) | `TEXT_MESSAGE_START`, `TEXT_MESSAGE_CONTENT`, `TEXT_MESSAGE_END` |
//! | [`CallBegun`](AgentEvent::CallBegun) | `TOOL_CALL_START`, `TOOL_CALL_ARGS`, `TOOL_CALL_END` |
//! | [`CallUpdate`](AgentEvent::CallUpdate) | `ACTIVITY_SNAPSHOT` of the type `tool_progress` |
//! | [`CallResult`](AgentEvent::CallResult) | `TOOL_CALL_RESULT` with what the model reads |
//! | [`ApprovalWanted`](AgentEvent::ApprovalWanted) | an interrupt of `RUN_FINISHED`, whose id is the token; its call has no result yet |
//! | [`LateAnswer`](AgentEvent::LateAnswer) | `CUSTOM` with the name `late_answer` |
//! | [`Handoff`](AgentEvent::Handoff) | `CUSTOM` with the name `handoff` |
//! | [`Blocked`](AgentEvent::Blocked) | a text: `TEXT_MESSAGE_START`, `TEXT_MESSAGE_CONTENT`, `TEXT_MESSAGE_END` |
//! | [`Finished`](AgentEvent::Finished) | `RUN_FINISHED` with the usage, or `RUN_ERROR` |
//!
//! # Approvals
//!
//! A front end answers an interrupt in the next request, with a `resume` entry whose payload is
//! `{"approved": true}` or `{"approved": false}`. The result of the call then comes in that run. A call
//! that a tool has made itself begins there, too.
//!
//! A cancelled entry denies its call if it still waits. If it waits no more, for example because it has
//! expired, nothing has to be done. A message of the user in the same request, if it is the last one,
//! begins a turn after that. If a decision could not be carried out, the reply begins with the
//! reason.
//!
//! A run in which calls wait for approval ends with their interrupts even if it has failed. The error
//! is a text of its own then.
//!
//! # Files
//!
//! An image, a sound or a document comes as data or by its URL, whose MIME type may be left out if the
//! URL has a known extension. A part that names a file at a provider is left out, as the protocol says.
//!
//! # Usage
//!
//! The usage of a run has the tokens of the agent's model, without those of the models of
//! [sub-agents](crate::agent::SubAgent).

mod event;
mod input;
mod stream;

pub use crate::ag_ui::event::RunEvent;
pub use crate::ag_ui::input::{InputError, RunInput};
pub use crate::ag_ui::stream::RunStream;

#[allow(unused_imports, reason = "the table above links to it")]
use tool_core::session::AgentEvent;
