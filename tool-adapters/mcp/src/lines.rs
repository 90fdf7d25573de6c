//! Messages as lines, of both sides: their reading with a maximum size, their writing, and the id
//! of a message that is too large or too deep to be read.
//!
//! A message that is only dropped leaves the other side waiting. The scan of a message keeps a few
//! bytes of it, however long and deep it is, so that its request can be answered, or its call fail,
//! at once.

use futures_util::SinkExt;
use memchr::memchr;
use rmcp::model::RequestId;
use serde::Serialize;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Mutex;
use tokio::time::timeout;
use tokio_util::bytes::{Buf, Bytes, BytesMut};
use tokio_util::codec::{Decoder, FramedRead, FramedWrite, LinesCodec, LinesCodecError};
use tool_core::json::StringScanner;

/// The kind and the id of a message, by its members at the top level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MessageId {
    Request(RequestId),
    Response(RequestId),
    /// A notification, or no message with a unique and valid id.
    Unknown,
}

/// Finds the id of a message in parts of any size.
#[derive(Debug, Default)]
pub(crate) struct IdScanner {
    depth: usize,
    strings: StringScanner,
    /// The name of the member at the top level, once its value begins.
    name: Option<Vec<u8>>,
    /// The text of a name or of a value at the top level, up to one byte more than [`Self::MAX_TEXT`].
    text: Vec<u8>,
    /// The ids that were found, up to two.
    ids: Vec<Option<RequestId>>,
    has_method: bool,
}

impl IdScanner {
    const MAX_TEXT: usize = 256;

    /// Scans a whole message.
    pub(crate) fn scan(message: &[u8]) -> MessageId {
        let mut scanner = Self::default();
        scanner.push(message);
        scanner.found()
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.step(*byte);
        }
    }

    fn step(&mut self, byte: u8) {
        if !self.strings.step(byte) {
            return self.keep(byte);
        }
        match byte {
            b'{' | b'[' => {
                self.keep(byte);
                self.depth += 1;
            }
            b'}' | b']' => {
                self.end_member();
                self.depth = self.depth.saturating_sub(1);
            }
            b':' if self.depth == 1 && self.name.is_none() => {
                self.name = Some(std::mem::take(&mut self.text));
            }
            b',' => self.end_member(),
            b' ' | b'\t' | b'\r' | b'\n' => {}
            _ => self.keep(byte),
        }
    }

    fn keep(&mut self, byte: u8) {
        if self.depth == 1 && self.text.len() <= Self::MAX_TEXT {
            self.text.push(byte);
        }
    }

    fn end_member(&mut self) {
        if self.depth != 1 {
            return;
        }
        let text = std::mem::take(&mut self.text);
        match self.name.take().as_deref() {
            Some(br#""id""#) if self.ids.len() < 2 => {
                let is_whole = text.len() <= Self::MAX_TEXT;
                self.ids
                    .push(serde_json::from_slice(&text).ok().filter(|_| is_whole));
            }
            Some(br#""method""#) => self.has_method = true,
            _ => {}
        }
    }

    pub(crate) fn found(&self) -> MessageId {
        match self.ids.as_slice() {
            [Some(id)] if self.has_method => MessageId::Request(id.clone()),
            [Some(id)] => MessageId::Response(id.clone()),
            _ => MessageId::Unknown,
        }
    }
}

pub(crate) type Input = Box<dyn AsyncRead + Send + Unpin>;
pub(crate) type Output = Box<dyn AsyncWrite + Send + Unpin>;

/// The lines of an input.
pub(crate) type LineReader = FramedRead<Input, BoundedLines>;

/// Returns the lines of an input, of at most `max` bytes each.
pub(crate) fn read_lines(input: Input, max: usize) -> LineReader {
    FramedRead::new(input, BoundedLines::new(max))
}

/// Writes messages as lines, until it is closed. Clones write to the same output.
#[derive(Clone)]
pub(crate) struct LineWriter(Arc<Mutex<Option<FramedWrite<Output, LinesCodec>>>>);

impl LineWriter {
    pub(crate) fn new(output: Output) -> Self {
        let lines = FramedWrite::new(output, LinesCodec::new());
        Self(Arc::new(Mutex::new(Some(lines))))
    }

    pub(crate) async fn write(&self, line: String) -> io::Result<()> {
        let mut lines = self.0.lock().await;
        let lines = lines.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        lines.send(line).await.map_err(|error| match error {
            LinesCodecError::Io(error) => error,
            error @ LinesCodecError::MaxLineLengthExceeded => io::Error::other(error),
        })
    }

    pub(crate) async fn write_message(&self, message: &impl Serialize) -> io::Result<()> {
        self.write(serde_json::to_string(message)?).await
    }

    /// Closes the output once the line that is being written is finished, or after a time at most.
    pub(crate) async fn close(&self, limit: Duration) {
        if let Ok(mut lines) = timeout(limit, self.0.lock()).await {
            lines.take();
        }
    }
}

/// A line of a stream.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    Whole(Bytes),
    /// A line of more bytes than are read.
    TooLong {
        size: usize,
        id: MessageId,
    },
}

/// Splits a stream into lines of a maximum size. Skips empty lines.
pub(crate) struct BoundedLines {
    max: usize,
    /// The bytes of the line that were searched for its end.
    searched: usize,
    /// The size and the scan of a line that is too long.
    skipped: Option<(usize, IdScanner)>,
}

impl BoundedLines {
    pub(crate) fn new(max: usize) -> Self {
        Self {
            max,
            searched: 0,
            skipped: None,
        }
    }

    /// Scans bytes of a line that is too long.
    fn skip(&mut self, bytes: &[u8]) {
        let (size, scanner) = self.skipped.get_or_insert_default();
        *size = size.saturating_add(bytes.len());
        scanner.push(bytes);
    }

    fn end_skipped(&mut self) -> Option<Line> {
        self.skipped.take().map(|(size, scanner)| Line::TooLong {
            size,
            id: scanner.found(),
        })
    }

    /// Returns the line that these bytes end.
    fn end(&mut self, line: BytesMut) -> Option<Line> {
        if self.skipped.is_some() || line.len() > self.max {
            self.skip(&line);
            return self.end_skipped();
        }
        let mut line = line.freeze();
        if line.last() == Some(&b'\r') {
            line.truncate(line.len() - 1);
        }
        (!line.is_empty()).then_some(Line::Whole(line))
    }
}

impl Decoder for BoundedLines {
    type Item = Line;
    type Error = io::Error;

    fn decode(&mut self, bytes: &mut BytesMut) -> io::Result<Option<Line>> {
        loop {
            let unsearched = bytes.get(self.searched..).unwrap_or_default();
            let Some(at) = memchr(b'\n', unsearched) else {
                self.searched = bytes.len();
                if self.skipped.is_some() || bytes.len() > self.max {
                    self.skip(bytes);
                    bytes.clear();
                    self.searched = 0;
                }
                return Ok(None);
            };
            let line = bytes.split_to(self.searched + at);
            bytes.advance(1);
            self.searched = 0;
            if let Some(line) = self.end(line) {
                return Ok(Some(line));
            }
        }
    }

    fn decode_eof(&mut self, bytes: &mut BytesMut) -> io::Result<Option<Line>> {
        if let Some(line) = self.decode(bytes)? {
            return Ok(Some(line));
        }
        self.searched = 0;
        let rest = bytes.split();
        Ok(self.end(rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(id: i64) -> MessageId {
        MessageId::Request(RequestId::Number(id))
    }

    #[test]
    fn finds_the_id_of_a_message_at_any_place() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let text = r#"{\"id\":9,\"}{]["#;
        for params in [
            "{\"id\": 8, \"method\": 2}",
            &deep,
            &format!("\"{text}\""),
            "[{},[1,2],\"id\"]",
        ] {
            for message in [
                format!(r#"{{"jsonrpc":"2.0","id":7,"method":"x","params":{params}}}"#),
                format!(r#"{{"params": {params}, "method" : "x", "id" : 7 }}"#),
                format!(r#"{{"method":"x","id":7,"params":{params}"#),
            ] {
                assert_eq!(
                    IdScanner::scan(message.as_bytes()),
                    request(7),
                    "{message:.80}"
                );
                let mut by_bytes = IdScanner::default();
                message
                    .as_bytes()
                    .chunks(1)
                    .for_each(|byte| by_bytes.push(byte));
                assert_eq!(by_bytes.found(), request(7));
            }
            let response = format!(r#"{{"result":{params},"jsonrpc":"2.0","id":"a\"b"}}"#);
            assert_eq!(
                IdScanner::scan(response.as_bytes()),
                MessageId::Response(RequestId::String("a\"b".into()))
            );
        }
    }

    #[test]
    fn finds_no_id_that_is_ambiguous_or_invalid() {
        let long = format!(r#"{{"method":"x","id":"{}"}}"#, "x".repeat(300));
        for message in [
            r#"{"id":1,"id":2,"method":"x"}"#,
            r#"{"id":1,"id":1,"id":1,"method":"x"}"#,
            r#"{"id":1.5,"method":"x"}"#,
            r#"{"id":null,"method":"x"}"#,
            r#"{"id":[1],"method":"x"}"#,
            r#"{"method":"x","id":1"#,
            r#"[{"id":1,"method":"x"}]"#,
            r#""id":1,"method":"x""#,
            &long,
            "",
        ] {
            assert_eq!(
                IdScanner::scan(message.as_bytes()),
                MessageId::Unknown,
                "{message}"
            );
        }
    }

    #[test]
    fn a_line_is_whole_or_measured_however_it_is_cut() {
        let text =
            "{}\n\r\n{\"id\":3,\"result\":123}\nabcdefghijklmnopqrstuvwxyz\r\n12345678\n1234";
        for step in 1..text.len() {
            let (mut lines, mut bytes, mut found) =
                (BoundedLines::new(20), BytesMut::new(), Vec::new());
            for chunk in text.as_bytes().chunks(step) {
                bytes.extend_from_slice(chunk);
                while let Some(line) = lines.decode(&mut bytes).expect("no error") {
                    found.push(line);
                }
            }
            found.extend(lines.decode_eof(&mut bytes).expect("no error"));
            let whole = |text: &'static str| Line::Whole(Bytes::from_static(text.as_bytes()));
            let expected = [
                whole("{}"),
                Line::TooLong {
                    size: 21,
                    id: MessageId::Response(RequestId::Number(3)),
                },
                Line::TooLong {
                    size: 27,
                    id: MessageId::Unknown,
                },
                whole("12345678"),
                whole("1234"),
            ];
            assert_eq!(found, expected, "{step}");
        }
    }
}
