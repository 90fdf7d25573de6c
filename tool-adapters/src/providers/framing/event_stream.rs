//! AWS's binary frames (`application/vnd.amazon.eventstream`). Each names its event and has its payload as JSON. The
//! checksums are not verified, as the connection has its own.

use crate::providers::event::malformed;
use crate::providers::framing::frame::{Frame, FrameSink, emit_event};

/// The lengths at the beginning of a frame, and their checksum.
const PRELUDE: usize = 12;
/// The checksum at the end of a frame.
const TRAILER: usize = 4;
/// The largest frame by AWS's documentation: 16 MiB and its headers.
const MAX_FRAME_BYTES: usize = 17 * 1024 * 1024;

/// Reads binary frames. Each event is emitted as an object with one member: the event's name and its payload.
#[derive(Debug, Default)]
pub(crate) struct EventStreamDecoder {
    /// The part of the current frame that has arrived.
    buffer: Vec<u8>,
    /// True after bytes that are not a frame: the rest is passed over.
    broken: bool,
}

impl EventStreamDecoder {
    pub(crate) fn push(&mut self, bytes: &[u8], sink: FrameSink<'_>) {
        if self.broken {
            return;
        }
        self.buffer.extend_from_slice(bytes);
        let mut read = 0;
        while let Some(rest) = self.buffer.get(read..).filter(|rest| rest.len() >= PRELUDE) {
            let Some((total, headers)) = lengths(rest) else {
                sink(Frame::Problem(malformed("expected a frame of an AWS event stream", "")));
                *self = Self { buffer: Vec::new(), broken: true };
                return;
            };
            let Some(frame) = rest.get(..total) else { break };
            if let Some(event) = event(frame, headers) {
                emit_event("", &event, sink);
            }
            read += total;
        }
        self.buffer.drain(..read);
    }

    /// Returns true inside a frame.
    pub(crate) fn is_open(&self) -> bool {
        !self.buffer.is_empty()
    }
}

/// Reads the length of the frame and of its headers.
fn lengths(frame: &[u8]) -> Option<(usize, usize)> {
    let (total, rest) = number::<4>(frame)?;
    let (headers, _) = number::<4>(rest)?;
    (headers + PRELUDE + TRAILER <= total && total <= MAX_FRAME_BYTES).then_some((total, headers))
}

/// Splits off a big-endian number of `LENGTH` bytes.
fn number<const LENGTH: usize>(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (number, rest) = bytes.split_first_chunk::<LENGTH>()?;
    Some((number.iter().fold(0, |number, byte| number << 8 | usize::from(*byte)), rest))
}

/// Returns the event of a frame as `{"name":payload}`.
fn event(frame: &[u8], headers: usize) -> Option<Vec<u8>> {
    let payload = frame.get(PRELUDE + headers..frame.len() - TRAILER)?;
    let name = event_name(frame.get(PRELUDE..PRELUDE + headers)?)?;
    let payload = if payload.is_empty() { b"{}" } else { payload };
    let name = serde_json::to_vec(name).ok()?;
    Some([b"{", &*name, b":", payload, b"}"].concat())
}

/// Returns the value of the header `:event-type` or `:exception-type`.
fn event_name(mut headers: &[u8]) -> Option<&str> {
    while !headers.is_empty() {
        let (length, rest) = number::<1>(headers)?;
        let (name, rest) = rest.split_at_checked(length)?;
        let (kind, rest) = number::<1>(rest)?;
        let (length, rest) = match kind {
            0 | 1 => (0, rest),
            2 => (1, rest),
            3 => (2, rest),
            4 => (4, rest),
            5 | 8 => (8, rest),
            6 | 7 => number::<2>(rest)?,
            9 => (16, rest),
            _ => return None,
        };
        let (value, rest) = rest.split_at_checked(length)?;
        if kind == 7 && matches!(name, b":event-type" | b":exception-type") {
            return std::str::from_utf8(value).ok();
        }
        headers = rest;
    }
    None
}
