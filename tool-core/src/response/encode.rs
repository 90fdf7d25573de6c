//! A tool's result to JSON text: once, bounded in bytes and in depth.

use super::cut::{SizeUnit, Truncated, cut_bytes};
use super::output::Rare;
use super::{Form, ToolError, ToolOutput};
use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{CompactFormatter, Formatter};
use std::io;

/// Results nest no deeper than arguments may.
const DEPTH: u32 = 128;

/// The bytes that a result may have before anybody asks for less: far past what a model can read.
const BYTES: usize = 1 << 20;

/// Serialises `value`; what outgrows `bytes` is cut to valid JSON with a marker.
pub(crate) fn encode<T: Serialize + ?Sized>(value: &T, bytes: usize) -> Result<ToolOutput, ToolError> {
    let mut sink = Sink { text: Vec::with_capacity(128), limit: bytes, full: false };
    let written = write(value, &mut sink);
    if sink.full {
        return Ok(cut_output(&sink.text, bytes));
    }
    written?;
    Ok(ToolOutput { data: Ok(text(sink.text)?), form: Form::Data, rare: None })
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
pub(super) fn to_text<T: Serialize + ?Sized>(value: &T) -> Result<String, ToolError> {
    encode(value, BYTES)?.data
}

fn write<T: Serialize + ?Sized>(value: &T, sink: &mut Sink) -> Result<(), ToolError> {
    let mut serializer = serde_json::Serializer::with_formatter(sink, Bounded { depth: 0 });
    value.serialize(&mut serializer).map_err(|error| failed(&error))
}

#[cold]
fn failed(error: &serde_json::Error) -> ToolError {
    ToolError::internal(format!("the result does not serialise: {error}"))
}

fn text(bytes: Vec<u8>) -> Result<String, ToolError> {
    String::from_utf8(bytes).map_err(|_| ToolError::internal("the result does not serialise: not UTF-8"))
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

/// A buffer that stops taking bytes at a limit.
struct Sink {
    text: Vec<u8>,
    limit: usize,
    full: bool,
}

impl io::Write for &mut Sink {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes)?;
        Ok(bytes.len())
    }

    #[inline]
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        // Neither length passes `isize::MAX`, so the sum does not overflow.
        if self.text.len() + bytes.len() > self.limit {
            return self.overflow(bytes);
        }
        self.text.extend_from_slice(bytes);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Sink {
    #[cold]
    fn overflow(&mut self, bytes: &[u8]) -> io::Result<()> {
        let room = self.limit.saturating_sub(self.text.len());
        self.text.extend_from_slice(bytes.get(..room).unwrap_or_default());
        self.full = true;
        Err(io::Error::other("the result is too large"))
    }
}

/// Compact JSON that refuses to nest too deep, before the stack does.
struct Bounded {
    depth: u32,
}

impl Bounded {
    #[inline]
    fn enter(&mut self) -> io::Result<()> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(too_deep());
        }
        Ok(())
    }
}

#[cold]
fn too_deep() -> io::Error {
    io::Error::other("it nests deeper than 128")
}

impl Formatter for Bounded {
    #[inline]
    fn begin_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.enter()?;
        CompactFormatter.begin_array(writer)
    }

    #[inline]
    fn end_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth -= 1;
        CompactFormatter.end_array(writer)
    }

    #[inline]
    fn begin_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.enter()?;
        CompactFormatter.begin_object(writer)
    }

    #[inline]
    fn end_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth -= 1;
        CompactFormatter.end_object(writer)
    }
}
