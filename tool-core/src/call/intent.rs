//! What a tool asks of the runtime beside its result.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// Something a tool asks the runtime to do. Tools never change a session themselves.
///
/// In JSON an object whose `type` is the name: `{"type":"SET_PENDING_MESSAGE","message":"..."}`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Intent {
    /// End the voice session, after the current turn.
    EndVoiceSession,
    /// Speak no reply: in text for this turn, in voice until the host takes it back.
    SuppressAudio,
    /// Keep what is said out of the transcript, for as long.
    SuppressTranscript,
    /// Say this at the next turn.
    SetPendingMessage(String),
    /// The host's own, with a namespaced name such as `acme.refresh_cart`.
    Custom {
        /// The name: at least two parts between dots.
        name: String,
        /// Anything the host wants to know.
        payload: Value,
    },
}

impl Intent {
    /// An intent of the host's own. The name needs a namespace, so that no later version of this crate takes it.
    pub fn custom(name: impl Into<String>, payload: Value) -> Result<Self, String> {
        let name = name.into();
        let parts = name.split('.').collect::<Vec<_>>();
        if parts.len() < 2 || parts.iter().any(|part| part.is_empty()) {
            return Err(format!("intent `{name}` needs a namespace, such as `acme.{}`", name.trim_matches('.')));
        }
        Ok(Self::Custom { name, payload })
    }

    /// The name, as it stands in JSON.
    pub fn name(&self) -> &str {
        match self {
            Self::EndVoiceSession => "END_VOICE_SESSION",
            Self::SuppressAudio => "SUPPRESS_AUDIO",
            Self::SuppressTranscript => "SUPPRESS_TRANSCRIPT",
            Self::SetPendingMessage(_) => "SET_PENDING_MESSAGE",
            Self::Custom { name, .. } => name,
        }
    }
}

impl Serialize for Intent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = Map::new();
        map.insert("type".into(), self.name().into());
        match self {
            Self::SetPendingMessage(message) => _ = map.insert("message".into(), message.as_str().into()),
            Self::Custom { payload, .. } => _ = map.insert("payload".into(), payload.clone()),
            _ => {}
        }
        map.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Intent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Wire {
            r#type: String,
            message: Option<String>,
            #[serde(default)]
            payload: Value,
        }
        let wire = Wire::deserialize(deserializer)?;
        Ok(match wire.r#type.as_str() {
            "END_VOICE_SESSION" => Self::EndVoiceSession,
            "SUPPRESS_AUDIO" => Self::SuppressAudio,
            "SUPPRESS_TRANSCRIPT" => Self::SuppressTranscript,
            "SET_PENDING_MESSAGE" => {
                Self::SetPendingMessage(wire.message.ok_or_else(|| D::Error::missing_field("message"))?)
            }
            _ => Self::custom(wire.r#type, wire.payload).map_err(D::Error::custom)?,
        })
    }
}
