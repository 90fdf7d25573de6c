//! The protocol of a provider.

use crate::Provider;
use crate::answer_gate::{AnswerGate, CallTiming};
use crate::codec::{CallIds, EventSink, MessageReader, ToolAnswer};
use crate::event::{Event, ProtocolError, malformed, unparsed};
use crate::framing::frame::{Frame, is_too_large_to_parse};
use crate::framing::framer::{Framer, Framing};
use crate::half_characters::{Halves, has_mark, mark_surrogates};
use crate::hosts::Host;
use crate::request::Request;
use crate::retry_delay::delay_in_event;
use crate::spec::Endpoint;
use serde::de::Error as _;
use serde_json::Value;
use tool_core::ToolResponse;
use tool_core::call::ResultForm;
use tool_core::json::is_nested_too_deep;
use tool_core::session::RepairedMessages;

/// Reads a provider's messages and writes requests and results. It does no I/O: bytes go in, events
/// come out.
///
/// A protocol serves one conversation. [`finish`](Self::finish) ends a message; the ids of its
/// calls are kept, so that
/// [`encode`](Self::encode) answers under the ids that the provider gave.
///
/// ```
/// use tool_adapters::providers::{Event, Protocol};
/// use tool_adapters::{Provider, protocol};
/// use tool_core::serde_json::Value;
/// use tool_core::{Mode, Runtime, Session, ToolContext, tool};
///
/// /// Add two numbers.
/// #[tool]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// /// Runs the calls of an answer, and returns their results in the form of the provider.
/// async fn answer(protocol: &mut dyn Protocol, session: &Session, body: &[u8]) -> Value {
///     let mut events = protocol.push(body);
///     events.extend(protocol.finish());
///     let calls = events.into_iter().filter_map(|event| match event {
///         Event::Call(call) => Some(call),
///         _ => None,
///     });
///     protocol.encode(&session.call_all(calls).await)
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let runtime = Runtime::builder(ToolContext::builder().with(add).build()?).build()?;
/// let session = runtime.session("chat-42", Mode::Text).await?;
/// let body = br#"{"type": "message", "role": "assistant", "stop_reason": "tool_use",
///     "content": [{"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"a": 1, "b": 2}}]}"#;
/// let results = answer(&mut *protocol(Provider::Anthropic), &session, body).await;
/// assert_eq!(results["content"][0]["tool_use_id"], "toolu_1");
/// # Ok(())
/// # }
/// ```
pub trait Protocol: Send {
    /// Returns the provider.
    fn provider(&self) -> Provider;

    /// Names the framing of the next message, as a transport knows it from the content type.
    /// Without it the first byte that is not white space decides: `{` and `[` begin JSON, a zero
    /// byte begins AWS's binary frames, and everything else server-sent events.
    fn framing(&mut self, framing: Framing);

    /// Reads the next bytes of a message. They may be cut anywhere, in the middle of a character
    /// too.
    fn push(&mut self, bytes: &[u8]) -> Vec<Event>;

    /// Reads one parsed event, or a parsed whole answer.
    fn push_event(&mut self, event: &Value) -> Vec<Event>;

    /// Reads one event or whole answer, as the message of a WebSocket has it.
    fn push_message(&mut self, message: &[u8]) -> Vec<Event>;

    /// Ends the message and returns the events of what was still open. If [`Event::Finished`] has
    /// not come by then, the answer is incomplete: it has no calls, and an error says what was
    /// lost.
    fn finish(&mut self) -> Vec<Event>;

    /// Writes the messages that answer calls, in the provider's form, for the end of the
    /// conversation. It does not know the model: files of results have the form for Gemini 3, which
    /// earlier models refuse, and an error has no `status` at Bedrock, which only some models take.
    fn encode(&self, responses: &[ToolResponse]) -> Value;

    /// Sets the form of results in [`encode`](Self::encode). Defaults to [`ResultForm::Plain`].
    fn result_form(&mut self, form: ResultForm);

    /// Names the server that requests go to, which decides what they have. Defaults to the
    /// provider's own.
    fn host(&mut self, host: Host);

    /// Writes the body of a request, or the message that sets up the session of a WebSocket
    /// protocol.
    ///
    /// Steps of the history that this server sent go back as they came ([`Host::turn_id`]), those of others as their text and
    /// calls. A history that was cut is repaired in the request: see [`History::repair`](tool_core::session::History::repair).
    fn request(&self, request: &Request<'_>) -> Value;
}

/// Returns the protocol of a provider.
///
/// ```
/// use tool_adapters::providers::Event;
/// use tool_adapters::{Provider, protocol};
///
/// let mut protocol = protocol(Provider::Anthropic);
/// let answer = br#"{"type": "message", "role": "assistant", "stop_reason": "tool_use",
///     "content": [{"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"a": 1, "b": 2}}]}"#;
/// let (first, second) = answer.split_at(70);
/// let mut events = protocol.push(first);
/// events.extend(protocol.push(second));
/// let call = events.iter().find_map(|event| match event {
///     Event::Call(call) => Some(call),
///     _ => None,
/// });
/// assert_eq!(call.map(|call| (call.id(), call.name())), Some(("toolu_1", "add")));
/// ```
pub fn protocol(provider: Provider) -> Box<dyn Protocol> {
    let timing = match provider.spec().endpoint {
        Endpoint::Http(_) => CallTiming::AtTheEnd,
        Endpoint::WebSocket(_) => CallTiming::Immediate,
        Endpoint::ToolServer => CallTiming::Single,
    };
    let message = OpenMessage {
        reader: (provider.spec().messages.reader)(),
        ids: CallIds::default(),
        gate: AnswerGate::new(timing),
        halves: Halves::default(),
        frames: 0,
    };
    Box::new(ProviderProtocol {
        provider,
        framer: Framer::default(),
        message,
        form: ResultForm::default(),
        host: Host::of(provider),
    })
}

/// The protocol of any provider: its spec reads and writes, the rest is the same for all.
struct ProviderProtocol {
    provider: Provider,
    framer: Framer,
    message: OpenMessage,
    form: ResultForm,
    host: Host,
}

/// The message that is being read, and the ids of the conversation's calls.
struct OpenMessage {
    reader: Box<dyn MessageReader>,
    ids: CallIds,
    gate: AnswerGate,
    halves: Halves,
    /// The number of frames so far, which tells where an error is.
    frames: usize,
}

impl Protocol for ProviderProtocol {
    fn provider(&self) -> Provider {
        self.provider
    }

    fn framing(&mut self, framing: Framing) {
        self.framer.name(framing);
    }

    fn push(&mut self, bytes: &[u8]) -> Vec<Event> {
        // The usual number of events of one call with the beginning and the end of its message.
        let mut events = Vec::with_capacity(7);
        let Self {
            framer, message, ..
        } = self;
        message.halves.note(bytes);
        framer.push(bytes, &mut |frame| message.read(frame, &mut events));
        events
    }

    fn push_event(&mut self, event: &Value) -> Vec<Event> {
        let mut events = Vec::new();
        if is_nested_too_deep(event) {
            self.message.read(
                Frame::Problem(malformed("an event nests deeper than 128", "")),
                &mut events,
            );
            return events;
        }
        let text = event.to_string();
        self.message.halves.note(text.as_bytes());
        self.message.read(
            Frame::Event {
                name: "",
                text: &text,
                has_halves: has_mark(&text),
            },
            &mut events,
        );
        events
    }

    fn push_message(&mut self, message: &[u8]) -> Vec<Event> {
        let mut events = Vec::new();
        self.message.halves.note(message);
        let frame = match std::str::from_utf8(message) {
            Ok(text) => Frame::Event {
                name: "",
                text,
                has_halves: false,
            },
            Err(_) => Frame::Problem(malformed(
                "a message is not UTF-8",
                &String::from_utf8_lossy(message),
            )),
        };
        self.message.read(frame, &mut events);
        events
    }

    fn finish(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        let Self {
            framer, message, ..
        } = self;
        framer.finish(&mut |frame| message.read(frame, &mut events));
        message.finish(&mut events);

        // The framing and the reader both report a message that is cut off.
        let mut reported = false;
        let cut = |event: &Event| {
            matches!(
                event,
                Event::Error(ProtocolError::Truncated { call_id: None })
            )
        };
        events.retain(|event| !cut(event) || !std::mem::replace(&mut reported, true));
        events
    }

    fn encode(&self, responses: &[ToolResponse]) -> Value {
        let ids = &self.message.ids;
        let spec = self.provider.spec();
        let answers = responses.iter().map(|response| {
            let call = ids.get(response.meta().call_id().unwrap_or_default());
            ToolAnswer {
                response,
                call,
                result: response.for_model(self.form),
                names: spec.tool_names,
            }
        });
        (spec.messages.encode)(&answers.collect::<Vec<_>>(), ids, &self.host)
    }

    fn result_form(&mut self, form: ResultForm) {
        self.form = form;
    }

    fn host(&mut self, host: Host) {
        self.host = host;
    }

    fn request(&self, request: &Request<'_>) -> Value {
        let write = self.provider.spec().messages.request;
        let repaired = RepairedMessages::of(request.history);
        let written = request.declarations.written_history(&repaired.messages);
        let history = written.as_deref().unwrap_or(&repaired.messages);
        write(
            &Request {
                history,
                ..*request
            },
            &self.host,
        )
    }
}

impl OpenMessage {
    /// Reads a frame; returns false for an attempt that is not JSON.
    fn read(&mut self, frame: Frame<'_>, events: &mut Vec<Event>) -> bool {
        let from = events.len();
        let text = frame.text();
        let was_read = self.read_frame(frame, events);
        self.frames += usize::from(was_read);
        let new = events.get_mut(from..).unwrap_or_default();
        if new.iter().any(|event| self.gate.concerns(event)) {
            add_delays(new, text);
            place_errors(new, self.frames);
            self.gate.admit_all(events, from);
        }
        was_read
    }

    /// Ends the message.
    fn finish(&mut self, events: &mut Vec<Event>) {
        let from = events.len();
        let mut sink = EventSink {
            events,
            ids: &mut self.ids,
            halves: &mut self.halves,
        };
        self.reader.finish(&mut sink);
        self.gate.admit_all(events, from);

        self.gate.finish();
        self.halves = Halves::default();
        self.frames = 0;
    }

    fn read_frame(&mut self, frame: Frame<'_>, events: &mut Vec<Event>) -> bool {
        match frame {
            Frame::Event {
                name,
                text,
                has_halves,
            } => {
                self.halves.were_seen |= has_halves;
                self.read_event(name, text, events);
                true
            }
            Frame::Attempt(text) => self.read_attempt(text, events),
            Frame::Done => {
                let mut sink = EventSink {
                    events,
                    ids: &mut self.ids,
                    halves: &mut self.halves,
                };
                self.reader.read_done(&mut sink);
                true
            }
            Frame::Problem(error) => {
                events.push(Event::Error(error));
                true
            }
        }
    }

    fn read_event(&mut self, name: &str, text: &str, events: &mut Vec<Event>) {
        if is_too_large_to_parse(text.as_bytes()) {
            events.push(Event::Error(malformed(
                "expected fewer values in an event",
                text,
            )));
            return;
        }
        if let Err(error) = self.read_text(name, text, events) {
            events.push(Event::Error(unparsed(error, text)));
        }
    }

    /// Reads a text that is a whole answer if it can be parsed.
    fn read_attempt(&mut self, text: &str, events: &mut Vec<Event>) -> bool {
        if is_too_large_to_parse(text.as_bytes()) {
            return false;
        }
        let before = events.len();
        match self.read_text("", text, events) {
            Ok(()) => true,
            Err(_) if events.len() == before => false,
            Err(error) => {
                events.push(Event::Error(unparsed(error, text)));
                true
            }
        }
    }

    fn read_text(
        &mut self,
        name: &str,
        text: &str,
        events: &mut Vec<Event>,
    ) -> serde_json::Result<()> {
        let mut marked = None;
        if self.halves.may_be_escaped {
            marked = mark_surrogates(text)
                .map_err(|_| serde_json::Error::custom("a character is cut in two"))?;
            self.halves.were_seen |= marked.is_some();
        }
        let mut sink = EventSink {
            events,
            ids: &mut self.ids,
            halves: &mut self.halves,
        };
        self.reader
            .read(name, marked.as_deref().unwrap_or(text), &mut sink)
    }
}

/// Adds the delay that an event asks for to the provider's error in it.
fn add_delays(events: &mut [Event], text: &str) {
    for event in events {
        if let Event::Error(ProtocolError::Provider {
            message,
            retry_after,
            ..
        }) = event
        {
            *retry_after = delay_in_event(text, message);
        }
    }
}

/// Adds the place in the stream to errors about a part that cannot be read.
fn place_errors(events: &mut [Event], number: usize) {
    for event in events {
        if let Event::Error(ProtocolError::Malformed { message, .. }) = event {
            *message = format!("event {number} of the answer: {message}");
        }
    }
}
