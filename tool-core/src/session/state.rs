//! A session's state, what changes it, and the log of who asked for the change.

use crate::call::intent::Intent;
use crate::call::mode::Mode;
use crate::schema::timestamp::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What a session remembers beside its calls. Tools read it; only their intents and the host change it.
///
/// In voice it lives as long as the session, in text as long as the turn.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
#[allow(clippy::struct_excessive_bools)] // each is a fact of its own
pub struct SessionState {
    /// Whether no reply is to be spoken.
    pub audio_suppressed: bool,
    /// Whether the conversation is kept out of the transcript.
    pub transcript_suppressed: bool,
    /// What is to be said at the next turn.
    pub pending_message: Option<String>,
    /// Whether the session ends with the current turn.
    pub ending: bool,
    /// Whether the session is over.
    pub ended: bool,
    /// What custom intents and the host have put here, by name.
    pub values: Map<String, Value>,
}

/// One change of a session's state.
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
    /// Sets a member of [`SessionState::values`]; null takes it away.
    Value(String, Value),
}

impl SessionState {
    /// Makes one change.
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

    /// What is left of it when a turn ends.
    #[must_use]
    pub fn after_turn(&self, mode: Mode) -> Self {
        let ended = self.ended || self.ending;
        match mode {
            Mode::Voice => Self { ended, ..self.clone() },
            Mode::Text => Self { ended, ..Self::default() },
        }
    }
}

/// An intent that the runtime has seen to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AuditEntry {
    /// The tool that asked.
    pub tool: String,
    /// In which call.
    pub call_id: String,
    /// For what.
    pub intent: Intent,
    /// When.
    pub at: Timestamp,
    /// What came of it.
    pub effect: String,
}
