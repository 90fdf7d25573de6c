//! Bytes as events, in the framing of a provider.

use crate::event::ProtocolError;
use crate::framing::event_stream::EventStreamDecoder;
use crate::framing::frame::{Frame, FrameSink};
use crate::framing::json::JsonDecoder;
use crate::framing::sse::SseDecoder;

/// The way in which a message is divided into events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Framing {
    /// Server-sent events: `text/event-stream`. JSON values between the events are read too, as
    /// some servers send an error that way.
    ServerSentEvents,
    /// JSON values one after another: a whole answer, lines of JSON, or an array of events.
    Json,
    /// AWS's binary frames: `application/vnd.amazon.eventstream`.
    EventStream,
}

impl Framing {
    /// Returns the framing of an HTTP content type; `None` for a type that does not tell.
    ///
    /// ```
    /// use tool_adapters::providers::Framing;
    ///
    /// assert_eq!(Framing::of_content_type("text/event-stream; charset=utf-8"), Some(Framing::ServerSentEvents));
    /// assert_eq!(Framing::of_content_type("text/plain"), None);
    /// ```
    pub fn of_content_type(content_type: &str) -> Option<Self> {
        let essence = content_type
            .split(';')
            .next()
            .unwrap_or_default()
            .trim()
            .to_ascii_lowercase();
        match essence.as_str() {
            "text/event-stream" => Some(Self::ServerSentEvents),
            "application/json" | "application/x-ndjson" | "application/jsonl" => Some(Self::Json),
            "application/vnd.amazon.eventstream" => Some(Self::EventStream),
            _ => None,
        }
    }

    /// `{` and `[` begin JSON, and the length of a binary frame begins with a zero byte. No
    /// server-sent event begins with one of them.
    fn of_first_byte(byte: u8) -> Self {
        match byte {
            b'{' | b'[' => Self::Json,
            0 => Self::EventStream,
            _ => Self::ServerSentEvents,
        }
    }
}

/// Reads the frames of a message.
#[derive(Debug, Default)]
pub(crate) struct Framer {
    named: Option<Framing>,
    /// The bytes of a byte order mark that have arrived.
    mark: usize,
    decoder: Option<Decoder>,
}

#[derive(Debug)]
enum Decoder {
    Sse(SseDecoder),
    Json(JsonDecoder),
    EventStream(EventStreamDecoder),
}

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

impl Framer {
    /// Names the framing of the message that begins.
    pub(crate) fn name(&mut self, framing: Framing) {
        self.named = Some(framing);
    }

    /// Reads the next bytes.
    pub(crate) fn push(&mut self, bytes: &[u8], sink: FrameSink<'_>) {
        match &mut self.decoder {
            Some(decoder) => decoder.push(bytes, sink),
            None => self.begin(bytes, sink),
        }
    }

    /// Ends the message: reports what is cut off. Another message may follow.
    pub(crate) fn finish(&mut self, sink: FrameSink<'_>) {
        let mut ended = std::mem::take(self);
        if ended.decoder.is_none() && ended.mark > 0 && ended.mark < BYTE_ORDER_MARK.len() {
            ended.decide(Framing::ServerSentEvents, sink);
        }
        let cut = match ended.decoder {
            Some(Decoder::Sse(decoder)) => decoder.finish(sink),
            Some(Decoder::Json(decoder)) => decoder.finish(sink),
            Some(Decoder::EventStream(decoder)) => decoder.is_open(),
            None => false,
        };
        if cut {
            sink(Frame::Problem(ProtocolError::Truncated { call_id: None }));
        }
    }

    /// Reads the bytes before the first that counts: a byte order mark and white space.
    fn begin(&mut self, bytes: &[u8], sink: FrameSink<'_>) {
        for (at, byte) in bytes.iter().enumerate() {
            if BYTE_ORDER_MARK.get(self.mark) == Some(byte) {
                self.mark += 1;
                continue;
            }
            let in_mark = self.mark > 0 && self.mark < BYTE_ORDER_MARK.len();
            if !in_mark && matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
                self.mark = BYTE_ORDER_MARK.len();
                continue;
            }
            let framing = if in_mark {
                Framing::ServerSentEvents
            } else {
                Framing::of_first_byte(*byte)
            };
            self.decide(framing, sink)
                .push(bytes.get(at..).unwrap_or_default(), sink);
            return;
        }
    }

    fn decide(&mut self, framing: Framing, sink: FrameSink<'_>) -> &mut Decoder {
        let mut decoder = match self.named.unwrap_or(framing) {
            Framing::ServerSentEvents => Decoder::Sse(SseDecoder::default()),
            Framing::Json => Decoder::Json(JsonDecoder::default()),
            Framing::EventStream => Decoder::EventStream(EventStreamDecoder::default()),
        };
        // A mark that was not completed was something else.
        if self.mark < BYTE_ORDER_MARK.len() {
            decoder.push(BYTE_ORDER_MARK.get(..self.mark).unwrap_or_default(), sink);
        }
        self.decoder.insert(decoder)
    }
}

impl Decoder {
    fn push(&mut self, bytes: &[u8], sink: FrameSink<'_>) {
        match self {
            Self::Sse(decoder) => decoder.push(bytes, sink),
            Self::Json(decoder) => decoder.push(bytes, sink),
            Self::EventStream(decoder) => decoder.push(bytes, sink),
        }
    }
}
