//! Values as an SQL database has them.

use crate::sql::{Param, SqlError, SqlRow};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::borrow::Cow;
use std::time::Duration;
use tool_core::session::StoreError;
use tool_core::time::whole_milliseconds;

/// An id as the database has it: PostgreSQL cannot store zero bytes.
pub(crate) fn stored_id(id: &str) -> Cow<'_, str> {
    if id.contains(['%', '\0']) {
        Cow::Owned(id.replace('%', "%25").replace('\0', "%00"))
    } else {
        Cow::Borrowed(id)
    }
}

/// An id as the store was given it.
#[cfg(feature = "postgres")]
pub(crate) fn original_id(stored: &str) -> String {
    stored.replace("%00", "\0").replace("%25", "%")
}

/// A text as a parameter.
pub(crate) fn text(text: &str) -> Param<'_> {
    Param::Text(Some(text))
}

/// Returns a time in milliseconds: at least one, and at most a hundred years.
pub(crate) fn lifetime(time: Duration) -> u64 {
    const CENTURY: u64 = 100 * 365 * 24 * 60 * 60 * 1000;
    whole_milliseconds(time).clamp(1, CENTURY)
}

/// Parses a value that the database holds. The error shows nothing of the text.
pub(crate) fn from_json<T: DeserializeOwned>(text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|_| StoreError::new("the database holds an invalid value"))
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

/// Reads a number that is not negative.
pub(crate) fn unsigned(row: &impl SqlRow, column: usize) -> Result<u64, StoreError> {
    let number = row.number(column).map_err(SqlError::from)?;
    u64::try_from(number).map_err(|_| StoreError::new("the database holds a negative number"))
}
