//! The writer beside `serde_json::to_string`.

pub(crate) mod bounds;
pub(crate) mod equal;
pub(crate) mod same;
pub(crate) mod shape;

use crate::json::writer::JsonWriter;
use serde::Serialize;

/// Returns the text under a limit, true if the limit stopped the writer, and the error.
fn bounded<T: Serialize + ?Sized>(value: &T, limit: usize) -> (String, bool, Option<String>) {
    let mut writer = JsonWriter::new(limit);
    let error = value
        .serialize(&mut writer)
        .err()
        .map(|error| error.to_string());
    let full = writer.is_full();
    (writer.into_text(), full, error)
}

fn written<T: Serialize + ?Sized>(value: &T) -> Result<String, String> {
    let (text, full, error) = bounded(value, usize::MAX);
    assert!(!full);
    error.map_or(Ok(text), Err)
}

fn expected<T: Serialize + ?Sized>(value: &T) -> Result<String, String> {
    serde_json::to_string(value).map_err(|error| error.to_string())
}

#[track_caller]
fn same<T: Serialize + ?Sized>(value: &T) {
    assert_eq!(written(value), expected(value));
}
