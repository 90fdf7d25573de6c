//! Live conversations over a WebSocket: OpenAI Realtime and Gemini Live.
//!
//! ```no_run
//! use tool_adapters::Provider;
//! use tool_adapters::protocol::Event;
//! use tool_adapters::websocket::{LiveEvent, LiveLoop, LiveModel, updates};
//! use tool_core::{Mode, Runtime};
//!
//! # async fn talk(runtime: Runtime, key: &str) -> Result<(), Box<dyn std::error::Error>> {
//! let (shown, updates) = updates();
//! let session = runtime.session("s-1", Mode::Voice).on_update(shown).await?;
//! let model = LiveModel::new(Provider::GeminiLive, "gemini-live-2.5-flash").api_key(key).updates(updates);
//! let mut live = LiveLoop::start(session, model);
//!
//! let microphone = live.input();
//! tokio::spawn(async move { while microphone.audio(&[0; 640]).await.is_ok() {} });
//!
//! while let Some(event) = live.next().await {
//!     match event {
//!         LiveEvent::Model(Event::Audio { data, .. }) => { /* to the loudspeaker, in base64 */ }
//!         LiveEvent::Model(Event::Interrupted) => { /* the user speaks: be quiet */ }
//!         LiveEvent::Failed(error) => eprintln!("{error}"),
//!         _ => {}
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! A task reads the socket, runs the calls beside it, and sends their results as they come. It ends when
//! [`close`](LiveInput::close) is called, when a tool has ended the session, when there is no way on
//! ([`LiveEvent::Failed`]), and when the [`LiveLoop`] is dropped.
//!
//! # Turns and interruptions
//!
//! A turn of the session is over when the model has ended its message and no call is left; [`LiveEvent::Turn`] has what a
//! tool wants said next. When the user speaks while the model does, or [`interrupt`](LiveInput::interrupt) is called,
//! running calls are cancelled as far as they allow it. Calls that Gemini withdraws are cancelled and not answered.
//! `ctx.wait_for_playout()` waits for what the host tells the session: `playout_started`, `playout_finished`.
//!
//! # Tools that take long
//!
//! With [`updates`], the first `ctx.update(..)` of a tool is the result of its call, so that the model goes on. What it
//! tells later, and its end, reaches the model as a note that says which call it is about, as the call has had its
//! result; and the host as [`LiveEvent::Updated`]. So does what a person has approved: see
//! [`approve`](LiveInput::approve).
//!
//! # When the connection breaks
//!
//! It is opened again, by [`Retry`](crate::agent::Retry), and the setup is sent again. Calls go on meanwhile. Gemini takes the conversation up
//! where it was ([`LiveEvent::Connected`] says `resumed`) when it has given a handle for that; results that came in the
//! meantime are then sent. Otherwise a new conversation begins that knows nothing of the old one: results for the old
//! one come as [`LiveEvent::Unsent`]. A call that the provider sends again is not run again. A result that was on its way
//! as the connection broke may be lost at the provider.
//!
//! # Spans
//!
//! The conversation is one `agent` span, of the name that [`named`](LiveModel::named) gives, in the span in which it was
//! started. Each response of the model is an `llm` span in it, with what the provider says was used, and so are the
//! calls: a response that is stopped is cancelled, one that is lost with its connection an error. A conversation that was
//! given no name has spans where tools have: inside of another, or once the process collects
//! ([`start`](tool_core::trace::start)).

mod build;
mod calls;
mod connect;
mod driver;
mod input;
mod link;
mod serve;
mod spans;
mod tls;
mod words;

pub use build::{LiveModel, Updates, updates};
pub use input::{Ended, LiveInput};

use crate::protocol::Event;
use driver::Driver;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tool_core::session::Turn;
use tool_core::{Session, ToolError, ToolResponse};

/// A live conversation: see the [module](self). Ends when it is dropped.
#[derive(Debug)]
pub struct LiveLoop {
    events: mpsc::Receiver<LiveEvent>,
    input: LiveInput,
    task: JoinHandle<()>,
}

/// What happens in a live conversation.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum LiveEvent {
    /// There is a connection.
    Connected {
        /// Whether the conversation goes on where it was; at first, and where the provider cannot, it begins.
        resumed: bool,
    },
    /// What the model says and does, with calls under the tools' own names.
    Model(Event),
    /// A call was answered, and the model is told. What a person has to approve is in its `meta`.
    Answered(ToolResponse),
    /// Word of a call that goes on, or its end: the model is told.
    Updated(ToolResponse),
    /// A result that the model cannot be told, as the conversation that asked for it is over.
    Unsent(ToolResponse),
    /// A turn is over. Its `pending_message` is for the host to say.
    Turn(Turn),
    /// The connection is lost, and is opened again.
    Disconnected {
        /// Why.
        error: ToolError,
        /// When.
        retry_in: Duration,
    },
    /// There is no way on: the last event.
    Failed(ToolError),
}

impl LiveLoop {
    /// Begins a conversation, in a task of its own: needs a tokio runtime.
    pub fn start(session: Session, model: LiveModel) -> Self {
        const EVENTS: usize = 64;
        const INPUTS: usize = 64;
        let (event_sender, events) = mpsc::channel(EVENTS);
        let (input_sender, inputs) = mpsc::channel(INPUTS);
        let (close, closed) = watch::channel(false);
        // Its spans are in the one that the caller is in.
        let task = tokio::spawn(Driver::new(session, model, inputs, event_sender, closed).run());
        Self { events, input: LiveInput::new(input_sender, close), task }
    }

    /// The next event; `None` when the conversation is over. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<LiveEvent> {
        self.events.recv().await
    }

    /// What the user says goes in here. Cheap to clone.
    pub fn input(&self) -> LiveInput {
        self.input.clone()
    }
}

impl Drop for LiveLoop {
    fn drop(&mut self) {
        self.task.abort();
    }
}
