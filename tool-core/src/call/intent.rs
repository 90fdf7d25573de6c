//! Intents: requests to the runtime that a tool makes beside its result.

use crate::json::nested::{MAX_STORED_DEPTH, unless_deeper};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};

/// A request of a tool to the runtime. Tools never change a session directly.
///
/// In JSON it is an object whose `type` is the name:
/// `{"type":"SET_PENDING_MESSAGE","message":"..."}`.
///
/// ```
/// use serde_json::json;
/// use tool_core::{Intent, Mode, RunContext, Runtime, ToolCall, ToolContext, tool};
///
/// /// Say goodbye.
/// #[tool]
/// fn hang_up(ctx: &RunContext) -> &'static str {
///     ctx.emit(Intent::EndVoiceSession);
///     "goodbye"
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let runtime = Runtime::builder(ToolContext::builder().with(hang_up).build()?).build()?;
/// let session = runtime.session("s-1", Mode::Voice).await?;
/// let response = session.call(ToolCall::new("call_1", "hang_up", "{}")).await;
/// assert_eq!(response.intents(), [Intent::EndVoiceSession]);
/// assert!(session.next_turn().await.ended);
///
/// // An intent of the host has a namespace.
/// assert!(Intent::custom("acme.refresh_cart", json!({"cart": 7})).is_ok());
/// assert!(Intent::custom("refresh_cart", json!({})).is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Intent {
    /// End the voice session after the current turn.
    EndVoiceSession,
    /// Speak no reply. In text mode this lasts for the turn, in voice mode until the host ends it.
    SuppressAudio,
    /// Keep speech out of the transcript. It lasts as long as [`SuppressAudio`](Self::SuppressAudio).
    SuppressTranscript,
    /// Say this message at the next turn.
    SetPendingMessage(String),
    /// Continue the conversation by voice. The host opens the voice session.
    StartVoiceSession,
    /// Show this place of the host's user interface, for example `/bookings/7`.
    Navigate(String),
    /// An intent of the host, with a namespaced name such as `acme.refresh_cart`.
    Custom {
        /// The name: at least two parts, separated by dots.
        name: String,
        /// The payload, which the host interprets. It nests at most 100 deep.
        payload: Value,
    },
}

impl Intent {
    /// Creates an intent of the host. The name needs a namespace, so that it never collides with an
    /// intent of this crate.
    pub fn custom(name: impl Into<String>, payload: Value) -> Result<Self, String> {
        let name = name.into();
        let parts = name.split('.').collect::<Vec<_>>();
        if parts.len() < 2 || parts.iter().any(|part| part.is_empty()) {
            return Err(format!(
                "intent `{name}` needs a namespace, such as `acme.{}`",
                name.trim_matches('.')
            ));
        }
        Self::Custom { name, payload }.checked()
    }

    /// Refuses a payload that no store could give back, and drops it without recursion.
    pub(crate) fn checked(self) -> Result<Self, String> {
        let Self::Custom { name, payload } = self else {
            return Ok(self);
        };
        match unless_deeper(payload, MAX_STORED_DEPTH) {
            Some(payload) => Ok(Self::Custom { name, payload }),
            None => Err(format!(
                "the payload of intent `{}` nests deeper than {MAX_STORED_DEPTH}; make it flatter",
                name.escape_debug()
            )),
        }
    }

    /// Returns the intent's `type` in JSON.
    pub fn name(&self) -> &str {
        match self {
            Self::EndVoiceSession => "END_VOICE_SESSION",
            Self::SuppressAudio => "SUPPRESS_AUDIO",
            Self::SuppressTranscript => "SUPPRESS_TRANSCRIPT",
            Self::SetPendingMessage(_) => "SET_PENDING_MESSAGE",
            Self::StartVoiceSession => "START_VOICE_SESSION",
            Self::Navigate(_) => "NAVIGATE",
            Self::Custom { name, .. } => name,
        }
    }
}

impl Serialize for Intent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut intent = json!({ "type": self.name() });
        match self {
            Self::SetPendingMessage(message) => intent["message"] = message.as_str().into(),
            Self::Navigate(to) => intent["to"] = to.as_str().into(),
            Self::Custom { payload, .. } => intent["payload"] = payload.clone(),
            _ => {}
        }
        intent.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Intent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct IntentJson {
            r#type: String,
            message: Option<String>,
            to: Option<String>,
            #[serde(default)]
            payload: Value,
        }
        let intent = IntentJson::deserialize(deserializer)?;
        Ok(match intent.r#type.as_str() {
            "END_VOICE_SESSION" => Self::EndVoiceSession,
            "SUPPRESS_AUDIO" => Self::SuppressAudio,
            "SUPPRESS_TRANSCRIPT" => Self::SuppressTranscript,
            "SET_PENDING_MESSAGE" => Self::SetPendingMessage(
                intent
                    .message
                    .ok_or_else(|| D::Error::missing_field("message"))?,
            ),
            "START_VOICE_SESSION" => Self::StartVoiceSession,
            "NAVIGATE" => Self::Navigate(intent.to.ok_or_else(|| D::Error::missing_field("to"))?),
            _ => Self::custom(intent.r#type, intent.payload).map_err(D::Error::custom)?,
        })
    }
}
