//! Live conversations over a WebSocket: OpenAI Realtime and Gemini Live.
//!
//! ```no_run
//! use tool_adapters::Provider;
//! use tool_adapters::providers::Event;
//! use tool_adapters::transport::websocket::{LiveEvent, LiveLoop, LiveModel};
//! use tool_core::{Mode, Runtime};
//!
//! # async fn talk(runtime: Runtime, key: &str) -> Result<(), Box<dyn std::error::Error>> {
//! let session = runtime.session("s-1", Mode::Voice).background_answers().await?;
//! let model = LiveModel::new(Provider::GeminiLive, "gemini-live-2.5-flash").api_key(key);
//! let mut live = LiveLoop::start(session, model);
//!
//! let microphone = live.input();
//! tokio::spawn(async move { while microphone.audio(&[0; 640]).await.is_ok() {} });
//!
//! while let Some(event) = live.next().await {
//!     match event {
//!         LiveEvent::Model(Event::Audio { data, .. }) => { /* play the audio, which is in base64 */ }
//!         LiveEvent::Model(Event::Interrupted) => { /* the user speaks: stop playing */ }
//!         LiveEvent::Failed(error) => eprintln!("{error}"),
//!         _ => {}
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! A task reads the socket, runs calls concurrently, and sends their results as they finish. It
//! ends when
//! [`close`](LiveInput::close) is called, when a tool has ended the session, when reconnecting fails
//! ([`LiveEvent::Failed`]), and when the [`LiveLoop`] is dropped.
//!
//! # Handover
//!
//! A conversation crosses from text to voice and back with one session and one history:
//!
//! ```no_run
//! use tool_adapters::agent::AgentLoop;
//! use tool_adapters::transport::websocket::{LiveLoop, LiveModel};
//! use tool_core::Mode;
//! use tool_core::session::Model;
//!
//! # async fn cross<M: Model>(mut agent: AgentLoop<M>, voice: LiveModel, text: M) -> Result<(), Box<dyn std::error::Error>> {
//! let session = agent.session().clone();
//! session.switch_mode(Mode::Voice).await?;
//! let mut live = LiveLoop::with_history(session.clone(), voice, agent.history().clone());
//! while let Some(event) = live.next().await { /* talk */ }
//!
//! session.switch_mode(Mode::Text).await?;
//! let agent = AgentLoop::with_history(session, text, live.history());
//! # Ok(())
//! # }
//! ```
//!
//! The provider gets the last 128 KiB of the history: OpenAI as items, Gemini as initial history,
//! in which calls are texts.
//! [`LiveLoop::history`] adds what both sides say and write, and the calls with their results.
//!
//! # Instructions
//!
//! The model reads the instructions among the [settings](LiveModel::setting), those of
//! [`instructions`](LiveModel::instructions), and the summaries of the tools' guides, in this order. It reads a guide in full
//! by the control tool `get_tool_guide`, unless the policy says otherwise
//! ([`Policy::guides_on_demand`](tool_core::Policy::guides_on_demand)). With [`enter`](LiveModel::enter) the model speaks
//! first.
//!
//! # Turns and interruptions
//!
//! A turn of the session ends when the model has finished its message and no call is running. [`LiveEvent::Turn`] carries
//! the message that a tool set for the next turn. When the user begins to speak, the calls for whose results the model waits
//! are cancelled if they allow it. Those in the background and those that a person has approved run on, until the host
//! calls [`interrupt`](LiveInput::interrupt). Calls that Gemini withdraws are cancelled and not answered.
//! `ctx.wait_for_playout()` waits until the host reports `playout_started` and `playout_finished` to the session. After
//! `max_tool_steps` steps of calls, further ones are refused, and OpenAI is asked for a response without calls.
//!
//! # Tools
//!
//! The provider knows the tools that the session shows the model
//! ([`Session::definitions`](tool_core::Session::definitions)). The conversation looks at them
//! again after each call and turn, when the user sends a text, and while the provider is silent.
//! If they have changed, OpenAI gets them at once. Gemini takes tools in a new connection only,
//! so this resumes the conversation in one as soon as the model owes no response. Without a handle
//! for that, Gemini keeps the tools, and calls of hidden ones are refused.
//!
//! # Intents
//!
//! The host gets the intents of tools as [`LiveEvent::Intent`]. While the session suppresses audio
//! or its transcript, the host gets no speech or no transcripts, the user's among them: they are
//! counted ([`LiveLoop::suppressed`]) and dropped, also those that wait to be received. Audio that
//! was delivered before is interrupted with
//! [`Event::Interrupted`](tool_adapters_providers::Event::Interrupted). This lasts as long as the session's state says so: in a
//! session of text for the turn, and in one of voice until the host changes the state
//! ([`Session::change`](tool_core::Session::change)).
//!
//! # Tools that want no reply
//!
//! After [`ToolOutput::stop`](tool_core::ToolOutput::stop), OpenAI is not asked for a response.
//! Gemini answers results by itself: what it says until the end of its message is withheld from the
//! host and counted as suppressed, unless another call of the step wants a reply. Models that take
//! `NON_BLOCKING` functions stay silent ([`background_tools`](LiveModel::background_tools)).
//!
//! # Long-running tools
//!
//! In a session with [`background_answers`](tool_core::session::SessionBuilder::background_answers), the first `ctx.update(..)` of
//! a tool is the answer of its call, so that the model continues. The model gets later updates and the end of the call as notes
//! that name the call, and the host gets them as [`LiveEvent::Updated`]. The outcome of [`approve`](LiveInput::approve) and [`deny`](LiveInput::deny) reaches the model in
//! the same way.
//!
//! # Reconnecting
//!
//! A broken connection is opened again by the [`RetryPolicy`](crate::agent::RetryPolicy), and the
//! setup is sent again. Calls keep running, and a call that the provider repeats does not run
//! again.
//!
//! - If Gemini announces that it closes the connection, another one takes over as soon as the model owes
//!   no response.
//! - If Gemini has given a handle, the conversation is resumed ([`LiveEvent::Connected`] has
//!   `resumed`). Results and texts to which the model has not responded are sent again.
//! - Otherwise a new conversation begins with the history. It does not know the calls that still
//!   run, so the model gets their results as notes. A reply that the model owed is asked for again.
//!
//! When the conversation ends, running calls are cancelled, and the history has a result for each
//! call.
//!
//! # Slow hosts
//!
//! Events wait for the host up to [`event_bytes`](LiveModel::event_bytes). Then the socket is not
//! read until the host has caught up, so that memory is bounded and no call is lost. Of the updates
//! of tools, 1,000 may wait in the session, and 1,000 that were taken from it; older ones are dropped.
//!
//! # Spans
//!
//! The conversation is an `agent` span with the name of [`named`](LiveModel::named), a child of the
//! span in which it was started. Each response of the model is an `llm` span with its usage.
//! Responses and calls are children of the agent's span. A stopped response is cancelled, and one
//! that is lost with its connection is an error. A conversation without a name has spans inside
//! another span, or once the process collects spans ([`start`](tool_core::trace::start)).
//!
//! [`Session::metrics`](tool_core::Session::metrics) has the seconds of audio of both sides, the times from a result to the
//! next audio, and the interruptions. The tokens of a response are the session's measured context.

mod audio;
mod calls;
mod connection;
mod events;
mod exchange;
mod input;
mod live_loop;
mod model;
mod setup;
mod spans;
mod state;
mod task;
mod transcript;

pub use crate::websocket::events::{LiveEvent, SuppressedSpeech};
pub use crate::websocket::input::{ConversationEnded, LiveInput, LiveInputError};
pub use crate::websocket::live_loop::LiveLoop;
pub use crate::websocket::model::{LiveModel, LiveTransport};
