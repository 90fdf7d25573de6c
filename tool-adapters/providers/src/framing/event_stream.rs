//! AWS's binary frames: lengths, headers, a payload, and two checksums.

use crate::event::malformed;
use crate::framing::frame::{Frame, FrameSink, emit_event};
use serde_json::{Value, json};

/// The lengths at the beginning of a frame, and their checksum.
const PRELUDE: usize = 12;
/// The part of the prelude that its checksum covers.
const LENGTHS: usize = 8;
/// The checksum at the end of a frame.
const TRAILER: usize = 4;
/// The largest frame by AWS's documentation: 16 MiB and its headers.
const MAX_FRAME_BYTES: usize = 17 * 1024 * 1024;

/// Reads binary frames. Each event is emitted as an object with one member: the event's name and
/// its payload.
#[derive(Debug, Default)]
pub(crate) struct EventStreamDecoder {
    /// The part of the current frame that has arrived.
    buffer: Vec<u8>,
    /// True after bytes that are not a frame: the rest is passed over.
    broken: bool,
}

/// The lengths of a frame.
struct FrameLengths {
    /// Of the whole frame.
    total: usize,
    headers: usize,
}

/// The headers that say what a frame is.
#[derive(Debug, Default)]
struct FrameHeaders<'a> {
    message_type: &'a str,
    event_type: &'a str,
    exception_type: &'a str,
    error_code: &'a str,
    error_message: &'a str,
}

impl EventStreamDecoder {
    pub(crate) fn push(&mut self, bytes: &[u8], sink: FrameSink<'_>) {
        if self.broken {
            return;
        }
        self.buffer.extend_from_slice(bytes);
        let mut read = 0;
        while let Some(rest) = self.buffer.get(read..).filter(|rest| rest.len() >= PRELUDE) {
            let Some(lengths) = lengths(rest) else {
                sink(Frame::Problem(malformed(
                    "expected a frame of an AWS event stream",
                    "",
                )));
                *self = Self {
                    buffer: Vec::new(),
                    broken: true,
                };
                return;
            };
            let Some(frame) = rest.get(..lengths.total) else {
                break;
            };
            match event(frame, &lengths) {
                Some(event) => emit_event("", &event, sink),
                None => {
                    _ = sink(Frame::Problem(malformed(
                        "a frame of an AWS event stream is damaged",
                        "",
                    )));
                }
            }
            read += lengths.total;
        }
        self.buffer.drain(..read);
    }

    /// Returns true inside a frame.
    pub(crate) fn is_open(&self) -> bool {
        !self.buffer.is_empty()
    }
}

/// Reads the lengths at the beginning of a frame; `None` if their checksum is another.
fn lengths(frame: &[u8]) -> Option<FrameLengths> {
    let prelude = frame.get(..PRELUDE)?;
    let (total, rest) = number::<4>(prelude)?;
    let (headers, rest) = number::<4>(rest)?;
    let (checksum, _) = number::<4>(rest)?;

    let is_possible = headers + PRELUDE + TRAILER <= total && total <= MAX_FRAME_BYTES;
    let is_intact = checksum_of(prelude.get(..LENGTHS)?) == checksum;
    (is_possible && is_intact).then_some(FrameLengths { total, headers })
}

fn checksum_of(bytes: &[u8]) -> usize {
    crc32fast::hash(bytes) as usize
}

/// Splits off a big-endian number of `LENGTH` bytes.
fn number<const LENGTH: usize>(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (number, rest) = bytes.split_first_chunk::<LENGTH>()?;
    Some((
        number
            .iter()
            .fold(0, |number, byte| number << 8 | usize::from(*byte)),
        rest,
    ))
}

/// Returns the event of a frame as `{"name":payload}`; `None` if the frame is damaged.
fn event(frame: &[u8], lengths: &FrameLengths) -> Option<Vec<u8>> {
    let (covered, trailer) = frame.split_at_checked(frame.len() - TRAILER)?;
    let (checksum, _) = number::<TRAILER>(trailer)?;
    if checksum_of(covered) != checksum {
        return None;
    }

    let headers = read_headers(covered.get(PRELUDE..PRELUDE + lengths.headers)?)?;
    let payload = covered.get(PRELUDE + lengths.headers..)?;
    let payload = if payload.is_empty() { b"{}" } else { payload };
    if headers.message_type == "error" {
        let error: Value = json!({"__type": headers.error_code, "message": headers.error_message});
        return serde_json::to_vec(&error).ok();
    }

    let is_exception = !headers.exception_type.is_empty();
    let name = if is_exception {
        headers.exception_type
    } else {
        headers.event_type
    };
    let name = serde_json::to_vec(Some(name).filter(|name| !name.is_empty())?).ok()?;
    Some([b"{", &*name, b":", payload, b"}"].concat())
}

/// Reads the headers of a frame; `None` if they are damaged.
fn read_headers(mut headers: &[u8]) -> Option<FrameHeaders<'_>> {
    let mut read = FrameHeaders::default();
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
        headers = rest;
        let wanted = match name {
            b":message-type" => &mut read.message_type,
            b":event-type" => &mut read.event_type,
            b":exception-type" => &mut read.exception_type,
            b":error-code" => &mut read.error_code,
            b":error-message" => &mut read.error_message,
            _ => continue,
        };
        // The value of a text.
        if kind == 7 {
            *wanted = std::str::from_utf8(value).ok()?;
        }
    }
    Some(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a frame with headers of texts.
    fn frame(headers: &[(&str, &str)], payload: &[u8]) -> Vec<u8> {
        let mut head = Vec::new();
        for (name, value) in headers {
            head.push(u8::try_from(name.len()).expect("short"));
            head.extend(name.as_bytes());
            head.push(7);
            head.extend(u16::try_from(value.len()).expect("short").to_be_bytes());
            head.extend(value.as_bytes());
        }
        let total = PRELUDE + head.len() + payload.len() + TRAILER;
        let mut frame = Vec::new();
        for length in [total, head.len()] {
            frame.extend(u32::try_from(length).expect("short").to_be_bytes());
        }
        frame.extend(crc32fast::hash(&frame).to_be_bytes());
        frame.extend(&head);
        frame.extend(payload);
        frame.extend(crc32fast::hash(&frame).to_be_bytes());
        frame
    }

    fn read(bytes: &[u8]) -> Vec<String> {
        let mut read = Vec::new();
        let mut decoder = EventStreamDecoder::default();
        decoder.push(bytes, &mut |frame| {
            read.push(match frame {
                Frame::Event { text, .. } => text.to_owned(),
                _ => "problem".to_owned(),
            });
            true
        });
        read
    }

    #[test]
    fn an_event_is_an_object_with_its_name() {
        let event = frame(
            &[(":message-type", "event"), (":event-type", "messageStart")],
            b"{\"role\":\"assistant\"}",
        );
        assert_eq!(read(&event), [r#"{"messageStart":{"role":"assistant"}}"#]);
        let exception = frame(
            &[
                (":message-type", "exception"),
                (":exception-type", "throttlingException"),
            ],
            b"{}",
        );
        assert_eq!(read(&exception), [r#"{"throttlingException":{}}"#]);
        let error = frame(
            &[
                (":message-type", "error"),
                (":error-code", "500"),
                (":error-message", "gone"),
            ],
            b"",
        );
        assert_eq!(read(&error), [r#"{"__type":"500","message":"gone"}"#]);
    }

    // M1
    #[test]
    fn a_changed_byte_anywhere_is_a_problem() {
        let event = frame(
            &[(":event-type", "contentBlockDelta")],
            b"{\"delta\":{\"text\":\"a\"}}",
        );
        for at in 0..event.len() {
            let mut changed = event.clone();
            changed[at] ^= 1;
            let events = read(&changed);
            assert!(
                events.iter().all(|event| event == "problem"),
                "byte {at}: {events:?}"
            );
        }
    }
}
