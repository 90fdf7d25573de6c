//! A tool's result to JSON text: once, bounded in bytes and in depth.

use super::cut::{SizeUnit, Truncated, cut_bytes};
use super::output::Rare;
use super::write::{Error, Writer};
use super::{Form, ToolError, ToolOutput};
use serde::Serialize;
use serde_json::Value;

/// The bytes that a result may have before anybody asks for less: far past what a model can read.
const BYTES: usize = 1 << 20;

/// Serialises `value`; what outgrows `bytes` is cut to valid JSON with a marker.
pub(crate) fn encode<T: Serialize + ?Sized>(value: &T, bytes: usize) -> Result<ToolOutput, ToolError> {
    let mut writer = Writer::new(bytes);
    let written = value.serialize(&mut writer);
    finish(writer, written, bytes)
}

fn finish(writer: Writer, written: Result<(), Error>, bytes: usize) -> Result<ToolOutput, ToolError> {
    if writer.is_full() {
        return Ok(cut_output(writer.into_text().as_bytes(), bytes));
    }
    written.map_err(|error| failed(&error))?;
    Ok(ToolOutput { data: Ok(writer.into_text()), form: Form::Data, rare: None })
}

/// Serialises a value that may nest too deep for its own `Drop`, which recurses.
pub(crate) fn encode_tree(value: Value, bytes: usize) -> Result<ToolOutput, ToolError> {
    let encoded = encode(&value, bytes);
    if encoded.is_err() {
        take_apart(value);
    }
    encoded
}

#[cold]
fn take_apart(value: Value) {
    let mut left = vec![value];
    while let Some(value) = left.pop() {
        match value {
            Value::Array(items) => left.extend(items),
            Value::Object(members) => left.extend(members.into_iter().map(|(_, member)| member)),
            _ => {}
        }
    }
}

/// A list that grows item by item, up to a limit.
pub(crate) struct List {
    text: String,
    bytes: usize,
}

impl List {
    pub(crate) fn new(bytes: usize) -> Self {
        Self { text: "[".to_owned(), bytes }
    }

    /// Adds an item's JSON; false once the list has outgrown its limit.
    pub(crate) fn push(&mut self, item: &str) -> bool {
        if self.text.len() > 1 {
            self.text.push(',');
        }
        self.text.push_str(item);
        self.text.len() < self.bytes
    }

    pub(crate) fn finish(mut self) -> ToolOutput {
        self.text.push(']');
        match self.text.as_bytes().get(..self.bytes) {
            Some(partial) if self.text.len() > self.bytes => cut_output(partial, self.bytes),
            _ => ToolOutput { data: Ok(self.text), form: Form::Data, rare: None },
        }
    }
}

/// Serialises under the widest bound there is.
pub(super) fn widest<T: Serialize + ?Sized>(value: &T) -> Result<ToolOutput, ToolError> {
    encode(value, BYTES)
}

#[cold]
fn failed(error: &Error) -> ToolError {
    ToolError::internal(format!("the result does not serialise: {error}"))
}

#[cold]
fn cut_output(partial: &[u8], bytes: usize) -> ToolOutput {
    let truncated = Truncated { limit: bytes, unit: SizeUnit::Bytes, total: None };
    let data = cut_bytes(partial, &truncated);
    ToolOutput {
        data: Ok(data),
        form: Form::Data,
        rare: Some(Box::new(Rare { truncated: Some(truncated), ..Rare::default() })),
    }
}
