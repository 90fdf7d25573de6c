//! Values as a store keeps them: JSON texts and times.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::time::Duration;
use tool_core::session::StoreError;
use tool_core::time::whole_milliseconds;

/// Parses a value that the store holds. The error shows nothing of the text.
pub(crate) fn from_json<T: DeserializeOwned>(text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|_| StoreError::new("the store holds an invalid value"))
}

/// Parses a value that a process of another version may have written. One that cannot be read is
/// left out.
pub(crate) fn readable<T: DeserializeOwned>(text: &str, what: &str) -> Option<T> {
    let value = from_json(text);
    if let Err(error) = &value {
        tracing::warn!(%error, "{what} cannot be read; it is left out");
    }
    value.ok()
}

pub(crate) fn to_json(value: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value)
        .map_err(|error| StoreError::with_source("failed to write a value as JSON", error))
}

/// Returns a time in milliseconds that every server accepts: at least one, and at most a hundred
/// years.
pub(crate) fn milliseconds(time: Duration) -> u64 {
    const CENTURY: u64 = 100 * 365 * 24 * 60 * 60 * 1000;
    whole_milliseconds(time).clamp(1, CENTURY)
}
