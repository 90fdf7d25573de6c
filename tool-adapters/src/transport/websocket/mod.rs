//! Live conversations over a WebSocket: OpenAI Realtime and Gemini Live.
//!
//! ```no_run
//! use tool_adapters::Provider;
//! use tool_adapters::providers::Event;
//! use tool_adapters::transport::websocket::{LiveEvent, LiveLoop, LiveModel, updates};
//! use tool_core::{Mode, Runtime};
//!
//! # async fn talk(runtime: Runtime, key: &str) -> Result<(), Box<dyn std::error::Error>> {
//! let (send_update, updates) = updates();
//! let session = runtime.session("s-1", Mode::Voice).on_update(send_update).await?;
//! let model = LiveModel::new(Provider::GeminiLive, "gemini-live-2.5-flash").api_key(key).updates(updates);
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
//! A task reads the socket, runs calls concurrently, and sends their results as they finish. It ends when
//! [`close`](LiveInput::close) is called, when a tool has ended the session, when reconnecting fails
//! ([`LiveEvent::Failed`]), and when the [`LiveLoop`] is dropped.
//!
//! # Turns and interruptions
//!
//! A turn of the session ends when the model has finished its message and no call is running. [`LiveEvent::Turn`] carries
//! the message that a tool set for the next turn. When the user interrupts the model, or the host calls
//! [`interrupt`](LiveInput::interrupt), running calls are cancelled if they allow it. Calls that Gemini withdraws are
//! cancelled and not answered. `ctx.wait_for_playout()` waits until the host reports `playout_started` and
//! `playout_finished` to the session. After `max_tool_steps` responses with calls, OpenAI is asked for one without calls.
//!
//! # Tools
//!
//! The provider knows the tools that the session shows the model ([`Session::definitions`](tool_core::Session::definitions)).
//! The conversation looks at them again after each call and turn, when the user sends a text, and while the provider is
//! silent. Where they have changed, OpenAI gets them at once. Gemini takes tools in a new connection only, so this resumes
//! the conversation in one as soon as the model owes no response. Without a handle for that, Gemini keeps the tools, and
//! calls of hidden ones are refused.
//!
//! # Intents
//!
//! The host gets the intents of tools as [`LiveEvent::Intent`]. While the session suppresses audio or its transcript, the host
//! gets no speech or no transcripts, the user's among them: they are counted ([`LiveLoop::suppressed`]) and dropped, also
//! those that wait to be received. Audio that was delivered before is interrupted with
//! [`Event::Interrupted`](crate::providers::Event::Interrupted). This lasts as long as the session's state says so: in a
//! session of text for the turn, and in one of voice until the host changes the state
//! ([`Session::change`](tool_core::Session::change)).
//!
//! # Long-running tools
//!
//! With [`updates`], the first `ctx.update(..)` of a tool is the result of its call, so that the model continues. The model
//! gets later updates and the end of the call as notes that name the call, and the host gets them as
//! [`LiveEvent::Updated`]. The outcome of [`approve`](LiveInput::approve) and [`deny`](LiveInput::deny) reaches the model in
//! the same way.
//!
//! # Reconnecting
//!
//! A broken connection is opened again by the [`RetryPolicy`](crate::agent::RetryPolicy), and the setup is sent again. Calls
//! keep running. If Gemini has given a handle, the conversation is resumed ([`LiveEvent::Connected`] has `resumed`), and
//! pending results are sent. Otherwise a new conversation begins without history, and results for the old one become
//! [`LiveEvent::Unsent`]. A call that the provider repeats does not run again. A result that was in flight when the
//! connection broke may be lost.
//!
//! # Spans
//!
//! The conversation is an `agent` span with the name of [`named`](LiveModel::named), a child of the span in which it was
//! started. Each response of the model is an `llm` span with its usage. Responses and calls are children of the agent's
//! span. A stopped response is cancelled, and one that is lost with its connection is an error. A conversation without a
//! name has spans inside another span, or once the process collects spans ([`start`](tool_core::trace::start)).

mod calls;
mod connection;
mod events;
mod live_loop;
mod model;
mod spans;

pub use crate::transport::websocket::events::{ConversationEnded, LiveEvent, LiveInput, SuppressedSpeech};
pub use crate::transport::websocket::live_loop::LiveLoop;
pub use crate::transport::websocket::model::{LiveModel, LiveTransport, Updates, updates};
