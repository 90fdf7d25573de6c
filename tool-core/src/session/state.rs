//! A session's id and its state.

use crate::call::{Mode, StateKey, ToolError};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fmt;
use std::sync::Arc;

/// The id of a session, for example the host's id of a conversation. It is neither a secret nor a
/// proof of identity.
///
/// ```
/// use tool_core::SessionId;
///
/// let id = SessionId::from("conversation-7");
/// assert_eq!(id.as_str(), "conversation-7");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(Arc<str>);

impl SessionId {
    /// Creates an id.
    pub fn new(id: impl AsRef<str>) -> Self {
        Self(id.as_ref().into())
    }

    /// Returns the id's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn shared(&self) -> Arc<str> {
        Arc::clone(&self.0)
    }
}

impl<T: AsRef<str>> From<T> for SessionId {
    fn from(id: T) -> Self {
        Self::new(id)
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The state of a session. Tools read it; only the intents of tools and the host change it.
///
/// In voice the state lives as long as the session, in text as long as the turn.
///
/// ```
/// use serde_json::json;
/// use tool_core::session::StateChange;
/// use tool_core::{Mode, Runtime, ToolContext};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let runtime = Runtime::builder(ToolContext::builder().build()?).build()?;
/// let session = runtime.session("s-1", Mode::Voice).await?;
/// session.change(&[StateChange::AudioSuppressed(true), StateChange::Value("room".into(), json!(12))]).await?;
///
/// let state = session.state();
/// assert!(state.audio_suppressed && !state.ended);
/// assert_eq!(state.values["room"], 12);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
#[allow(clippy::struct_excessive_bools)] // each is a separate fact
pub struct SessionState {
    /// True when the reply must not be spoken.
    pub audio_suppressed: bool,
    /// True when the conversation is kept out of the transcript.
    pub transcript_suppressed: bool,
    /// A message to deliver at the next turn.
    pub pending_message: Option<String>,
    /// True when the session ends with the current turn.
    pub ending: bool,
    /// True when the session has ended.
    pub ended: bool,
    /// Values set by custom intents and by the host, by name.
    pub values: Map<String, Value>,
}

/// One change of a session's state.
///
/// ```
/// use tool_core::session::{SessionState, StateChange};
///
/// let mut state = SessionState::default();
/// state.apply(&StateChange::PendingMessage(Some("Your taxi is here.".into())));
/// assert_eq!(state.pending_message.as_deref(), Some("Your taxi is here."));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "change", content = "to")]
#[non_exhaustive]
pub enum StateChange {
    /// Sets [`SessionState::audio_suppressed`].
    AudioSuppressed(bool),
    /// Sets [`SessionState::transcript_suppressed`].
    TranscriptSuppressed(bool),
    /// Sets [`SessionState::pending_message`].
    PendingMessage(Option<String>),
    /// Sets [`SessionState::ending`].
    Ending(bool),
    /// Sets a member of [`SessionState::values`]. A null removes it.
    Value(String, Value),
}

impl StateChange {
    /// Creates the change that sets the value of a key.
    ///
    /// ```
    /// use tool_core::call::StateKey;
    /// use tool_core::session::{SessionState, StateChange};
    ///
    /// const CART: StateKey<Vec<String>> = StateKey::new("shop.cart");
    ///
    /// let mut state = SessionState::default();
    /// state.apply(&StateChange::set(CART, &vec!["tea".to_owned()])?);
    /// assert_eq!(state.get(CART)?, Some(vec!["tea".to_owned()]));
    /// # Ok::<(), tool_core::ToolError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The value does not serialise.
    pub fn set<T: Serialize>(key: StateKey<T>, value: &T) -> Result<Self, ToolError> {
        Ok(Self::Value(key.name().to_owned(), key.write(value)?))
    }
}

impl SessionState {
    /// Returns the value of a key, or `None` if there is none.
    ///
    /// # Errors
    ///
    /// The value is not a `T`.
    pub fn get<T: DeserializeOwned>(&self, key: StateKey<T>) -> Result<Option<T>, ToolError> {
        key.read(self.values.get(key.name()))
    }

    /// Applies a change.
    pub fn apply(&mut self, change: &StateChange) {
        match change {
            StateChange::AudioSuppressed(yes) => self.audio_suppressed = *yes,
            StateChange::TranscriptSuppressed(yes) => self.transcript_suppressed = *yes,
            StateChange::PendingMessage(message) => self.pending_message.clone_from(message),
            StateChange::Ending(yes) => self.ending = *yes,
            StateChange::Value(name, Value::Null) => _ = self.values.remove(name),
            StateChange::Value(name, value) => _ = self.values.insert(name.clone(), value.clone()),
        }
    }

    /// Returns true if nothing was set. Costs less than a comparison with a default state, which is
    /// created first.
    pub(crate) fn is_default(&self) -> bool {
        let Self {
            audio_suppressed,
            transcript_suppressed,
            pending_message,
            ending,
            ended,
            values,
        } = self;
        let is_set = *audio_suppressed || *transcript_suppressed || *ending || *ended;
        !is_set && pending_message.is_none() && values.is_empty()
    }

    /// Returns the state at the start of the next turn.
    #[must_use]
    pub fn after_turn(&self, mode: Mode) -> Self {
        let ended = self.ended || self.ending;
        match mode {
            Mode::Voice => Self {
                ended,
                ..self.clone()
            },
            Mode::Text => Self {
                ended,
                ..Self::default()
            },
        }
    }
}

/// A turn that has begun, or the end of the session in its place.
///
/// ```
/// use tool_core::{Intent, Mode, RunContext, Runtime, ToolCall, ToolContext, tool};
///
/// /// Say something in the next turn.
/// #[tool]
/// fn say_next(ctx: &RunContext, text: String) {
///     ctx.emit(Intent::SetPendingMessage(text));
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let runtime = Runtime::builder(ToolContext::builder().with(say_next).build()?).build()?;
/// let session = runtime.session("s-1", Mode::Voice).await?;
/// session.call(ToolCall::new("call_1", "say_next", r#"{"text": "By the way."}"#)).await;
///
/// let turn = session.next_turn().await;
/// assert_eq!((turn.number, turn.ended), (1, false));
/// assert_eq!(turn.pending_message.as_deref(), Some("By the way."));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Turn {
    /// The number of the turn, counted from 0.
    pub number: u64,
    /// The message that a tool of an earlier turn set for this one. It is delivered once.
    pub pending_message: Option<String>,
    /// True if the session is over instead: it has ended or expired, or a tool of the previous turn
    /// ended it.
    pub ended: bool,
    /// True if the session has ended by this call, as a tool of the previous turn has asked for that.
    /// One of all callers learns it.
    #[serde(default)]
    pub ended_now: bool,
}
