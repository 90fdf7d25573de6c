//! How a session's state and its changes are written in Redis.
//!
//! A field a piece, so that a change needs to know nothing of the rest; values are JSON texts that come back as they were.

use std::time::Duration;
use tool_core::serde::Serialize;
use tool_core::serde_json;
use tool_core::session::{SessionState, StateChange, StoreError};

const AUDIO: &str = "audio";
const TRANSCRIPT: &str = "transcript";
const MESSAGE: &str = "message";
/// The scripts read this one.
const ENDING: &str = "ending";
const VALUE: &str = "value:";

/// A change as scripts take it: the field, and `=` with its value, or nothing where the field goes.
pub(super) fn change(change: &StateChange) -> Result<[String; 2], StoreError> {
    let flag = |yes: bool| if yes { "=1".to_owned() } else { String::new() };
    Ok(match change {
        StateChange::AudioSuppressed(yes) => [AUDIO.to_owned(), flag(*yes)],
        StateChange::TranscriptSuppressed(yes) => [TRANSCRIPT.to_owned(), flag(*yes)],
        StateChange::Ending(yes) => [ENDING.to_owned(), flag(*yes)],
        StateChange::PendingMessage(to) => {
            [MESSAGE.to_owned(), to.as_ref().map_or_else(String::new, |message| format!("={message}"))]
        }
        StateChange::Value(name, to) => {
            let to = if to.is_null() { String::new() } else { format!("={to}") };
            [format!("{VALUE}{name}"), to]
        }
        _ => return Err(StoreError::new("a change of the state that this version of the Redis store does not know")),
    })
}

/// The state that fields make.
pub(super) fn state(fields: Vec<(String, String)>) -> Result<SessionState, StoreError> {
    let mut state = SessionState::default();
    for (field, text) in fields {
        match field.as_str() {
            AUDIO => state.audio_suppressed = true,
            TRANSCRIPT => state.transcript_suppressed = true,
            ENDING => state.ending = true,
            MESSAGE => state.pending_message = Some(text),
            // A field of a later version is for those who know it.
            field => {
                if let Some(name) = field.strip_prefix(VALUE) {
                    let value = serde_json::from_str(&text)
                        .map_err(|_| StoreError::new("a value of the session's state does not read"))?;
                    state.values.insert(name.to_owned(), value);
                }
            }
        }
    }
    Ok(state)
}

/// As JSON.
pub(super) fn json(value: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|_| StoreError::new("something that cannot be written as JSON"))
}

/// A duration in milliseconds that a server takes: at least one, and at most a hundred years.
pub(super) fn milliseconds(time: Duration) -> u64 {
    const CENTURY: u64 = 100 * 365 * 24 * 60 * 60 * 1000;
    u64::try_from(time.as_millis()).unwrap_or(CENTURY).clamp(1, CENTURY)
}
