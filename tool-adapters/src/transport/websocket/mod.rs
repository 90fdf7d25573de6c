//! Live conversations over a WebSocket: OpenAI Realtime and Gemini Live.
//!
//! ```no_run
//! use tool_adapters::Provider;
//! use tool_adapters::providers::Event;
//! use tool_adapters::transport::websocket::{LiveEvent, LiveLoop, LiveModel, updates};
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

pub(crate) mod calls;
pub(crate) mod connect;
pub(crate) mod driver;
pub(crate) mod serve;
pub(crate) mod spans;

use crate::agent::notes::Word;
use crate::providers::declare::DeclareOptions;
use crate::providers::event::Event;
use crate::providers::provider::Provider;
use crate::transport::api_key::ApiKey;
use crate::transport::retry::RetryPolicy;
use crate::transport::websocket::connect::live;
use crate::transport::websocket::driver::Driver;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
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

// ---- Setting a live model up.

/// A live model at a provider: see the [module](super).
pub struct LiveModel {
    pub(crate) provider: Provider,
    pub(crate) model: String,
    /// What the host calls the agent.
    pub(crate) name: Option<Cow<'static, str>>,
    pub(crate) base_url: Option<String>,
    pub(crate) api_key: Option<ApiKey>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) declare: DeclareOptions,
    pub(crate) extra: Map<String, Value>,
    pub(crate) audio_type: String,
    pub(crate) retry: RetryPolicy,
    pub(crate) connect_timeout: Duration,
    pub(crate) heartbeat: Duration,
    pub(crate) max_message: usize,
    pub(crate) updates: Option<Updates>,
}

/// Word of tools that take long, on its way to a live conversation.
#[derive(Debug)]
pub struct Updates(pub(crate) mpsc::UnboundedReceiver<ToolResponse>);

/// What a session's [`on_update`](tool_core::session::SessionBuilder::on_update) is given, and what goes to
/// [`LiveModel::updates`].
pub fn updates() -> (impl Fn(ToolResponse) + Send + Sync + 'static, Updates) {
    // As many as tools tell: a session's calls, and what they say, are bounded there.
    let (sender, receiver) = mpsc::unbounded_channel();
    let shown = move |response| {
        // Nobody is told once the conversation is over.
        let _ = sender.send(response);
    };
    (shown, Updates(receiver))
}

impl LiveModel {
    /// A model at a provider, by the name that it has there: `OpenAiRealtime` or `GeminiLive`.
    ///
    /// It is reached at `wss://api.openai.com/v1` (`OPENAI_BASE_URL`, `OPENAI_API_KEY`) or
    /// `wss://generativelanguage.googleapis.com` (`GOOGLE_GEMINI_BASE_URL`; `GOOGLE_API_KEY`, `GEMINI_API_KEY`), unless
    /// told otherwise. A key of the environment goes to no server that the program names.
    pub fn new(provider: Provider, model: impl Into<String>) -> Self {
        let rate = live(provider).map_or(16_000, |live| live.audio_rate);
        Self {
            provider,
            model: model.into(),
            name: None,
            base_url: None,
            api_key: None,
            headers: Vec::new(),
            declare: DeclareOptions::default(),
            extra: Map::new(),
            audio_type: format!("audio/pcm;rate={rate}"),
            retry: RetryPolicy::default(),
            connect_timeout: Duration::from_secs(10),
            heartbeat: Duration::from_secs(20),
            max_message: 16 * 1024 * 1024,
            updates: None,
        }
    }

    /// What the agent is called that speaks by it, in spans and sums; `agent` unless told. One with a name always
    /// has spans.
    #[must_use]
    pub fn named(mut self, name: impl Into<Cow<'static, str>>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// The key. Nothing shows it.
    #[must_use]
    pub fn api_key(mut self, key: impl AsRef<str>) -> Self {
        self.api_key = Some(ApiKey::new(key.as_ref()));
        self
    }

    /// Another address than the provider's own, up to where its paths begin: `ws`, `wss`, `http` or `https`.
    #[must_use]
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = Some(url.into());
        self
    }

    /// A header for the handshake.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// How the tools are declared.
    #[must_use]
    pub fn declare_options(mut self, options: DeclareOptions) -> Self {
        self.declare = options;
        self
    }

    /// A setting of the session in the provider's own words, such as Gemini's `generationConfig`.
    #[must_use]
    pub fn setting(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.extra.insert(name.into(), value.into());
        self
    }

    /// What the sound is that the host sends, for providers that want to be told: `audio/pcm;rate=16000` unless told.
    /// OpenAI takes what its session says, which is 24 kHz unless told.
    #[must_use]
    pub fn audio_type(mut self, mime_type: impl Into<String>) -> Self {
        self.audio_type = mime_type.into();
        self
    }

    /// How often a connection that was lost is opened again. The count begins anew once one has held.
    #[must_use]
    pub fn retry(mut self, retry: RetryPolicy) -> Self {
        self.retry = retry;
        self
    }

    /// How long the provider may take until the conversation can begin: 10 s unless told.
    #[must_use]
    pub fn connect_timeout(mut self, time: Duration) -> Self {
        self.connect_timeout = time;
        self
    }

    /// How often it is asked for a sign of life, at most: 20 s unless told. After twice that the connection is lost.
    #[must_use]
    pub fn heartbeat(mut self, time: Duration) -> Self {
        self.heartbeat = time;
        self
    }

    /// The bytes that a message of the provider's may have: 16 MiB unless told.
    #[must_use]
    pub fn max_message(mut self, bytes: usize) -> Self {
        self.max_message = bytes;
        self
    }

    /// Takes the updates of tools that take long: see [`updates`].
    #[must_use]
    pub fn updates(mut self, updates: Updates) -> Self {
        self.updates = Some(updates);
        self
    }
}

impl fmt::Debug for LiveModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveModel")
            .field("provider", &self.provider)
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

// ---- What the host says.

/// Something for the provider, or for the session.
#[derive(Debug)]
pub(crate) enum Input {
    Text(String),
    Audio(Vec<u8>),
    AudioEnd,
    Interrupt,
    Decide(String, Word),
    Raw(Value),
}

/// Where the host speaks to a [`LiveLoop`](super::LiveLoop). Cheap to clone.
///
/// While there is no connection, and when the provider takes things more slowly than they come, it waits.
#[derive(Clone, Debug)]
pub struct LiveInput {
    inputs: mpsc::Sender<Input>,
    closing: Arc<watch::Sender<bool>>,
}

/// The conversation is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended;

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the conversation is over")
    }
}

impl std::error::Error for Ended {}

impl LiveInput {
    pub(crate) fn new(inputs: mpsc::Sender<Input>, closing: watch::Sender<bool>) -> Self {
        Self { inputs, closing: Arc::new(closing) }
    }

    /// What the user has written. The model answers.
    pub async fn text(&self, text: impl Into<String>) -> Result<(), Ended> {
        self.send(Input::Text(text.into())).await
    }

    /// A piece of what the user says: raw sound, as [`audio_type`](super::LiveModel::audio_type) describes it.
    pub async fn audio(&self, sound: impl Into<Vec<u8>>) -> Result<(), Ended> {
        self.send(Input::Audio(sound.into())).await
    }

    /// The user has stopped speaking. Not needed where the provider listens for that itself, as it does unless told.
    pub async fn audio_end(&self) -> Result<(), Ended> {
        self.send(Input::AudioEnd).await
    }

    /// Cancels running calls, as far as they allow it, and stops the model where the provider can be told.
    pub async fn interrupt(&self) -> Result<(), Ended> {
        self.send(Input::Interrupt).await
    }

    /// Runs a call that waited for a person, who agreed to it. The model is told what came of it.
    pub async fn approve(&self, token: impl Into<String>) -> Result<(), Ended> {
        self.send(Input::Decide(token.into(), Word::Approved)).await
    }

    /// Answers a call that waited for a person, who did not agree to it. The model is told.
    pub async fn deny(&self, token: impl Into<String>) -> Result<(), Ended> {
        self.send(Input::Decide(token.into(), Word::Denied)).await
    }

    /// A message in the provider's own form, sent as it stands.
    pub async fn raw(&self, message: Value) -> Result<(), Ended> {
        self.send(Input::Raw(message)).await
    }

    /// Ends the conversation: what was said until then is sent, and the connection closed.
    pub fn close(&self) {
        self.closing.send_replace(true);
    }

    async fn send(&self, input: Input) -> Result<(), Ended> {
        self.inputs.send(input).await.map_err(|_| Ended)
    }
}
