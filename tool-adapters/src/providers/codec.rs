//! What the protocols share: frames in, events out.

use crate::providers::event::{Event, ProtocolError, Request, provider_error};
use crate::providers::framing::{Frame, Framing, malformed};
use crate::providers::ids::{Ids, Wire};
use crate::providers::protocol::Protocol;
use crate::providers::provider::Provider;
use crate::providers::unescape::replaced;
use serde::Deserialize;
use serde_json::Value;
use std::borrow::Cow;
use tool_core::ToolResponse;
use tool_core::call::{ModelResult, ResultForm};

/// What differs between the providers; [`Framed`] does the rest.
pub(crate) trait Codec: Default + Send {
    /// The provider.
    fn provider(&self) -> Provider;

    /// Reads one event, or a whole answer. `name` is the name of a server-sent event, or empty.
    fn read(&mut self, name: &str, text: &str, out: &mut Out<'_>);

    /// The provider says that the stream is over: `[DONE]`.
    fn done(&mut self, _out: &mut Out<'_>) {}

    /// The message is over, or was cut off. Afterwards another may begin.
    fn finish(&mut self, out: &mut Out<'_>);

    /// The messages that answer calls.
    fn encode(&self, answers: &[Answer<'_>]) -> Value;

    /// The body of a request.
    fn request(&self, request: &Request<'_>) -> Value;
}

/// Where a codec tells what it reads.
pub(crate) struct Out<'a> {
    pub(crate) events: &'a mut Vec<Event>,
    pub(crate) ids: &'a mut Ids,
    /// An event that could not be read for halves of characters, without them.
    pub(crate) replaced: Option<String>,
    guess: Guess,
}

/// What is known of an event that may be none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Guess {
    /// It is one.
    #[default]
    Right,
    /// Whoever reads it finds out.
    Open,
    /// It is none.
    Wrong,
}

/// The answer to a call.
#[derive(Debug)]
pub(crate) struct Answer<'a> {
    /// Our id.
    pub(crate) id: &'a str,
    /// The tool's name, as the response says it.
    pub(crate) tool: &'a str,
    /// The call, as the provider made it.
    pub(crate) wire: Option<&'a Wire>,
    /// What the model reads.
    pub(crate) result: ModelResult,
}

impl<'a> Answer<'a> {
    /// The id to answer under: the provider's, or ours where it gave none.
    pub(crate) fn wire_id(&self) -> &'a str {
        self.wire.map(|wire| wire.id.as_str()).filter(|id| !id.is_empty()).unwrap_or(self.id)
    }

    /// The id to answer under: the provider's as it gave it, or ours in a form that it takes.
    pub(crate) fn conforming_id(&self, form: fn(&'a str) -> Cow<'a, str>) -> Cow<'a, str> {
        match self.wire.map(|wire| wire.id.as_str()).filter(|id| !id.is_empty()) {
            Some(id) => Cow::Borrowed(id),
            None => form(self.id),
        }
    }

    /// The tool's name at the provider.
    pub(crate) fn name(&self) -> &'a str {
        self.wire.map(|wire| wire.name.as_str()).filter(|name| !name.is_empty()).unwrap_or(self.tool)
    }
}

impl Out<'_> {
    pub(crate) fn push(&mut self, event: Event) {
        self.events.push(event);
    }

    pub(crate) fn error(&mut self, error: ProtocolError) {
        self.events.push(Event::Error(error));
    }

    /// Text, where there is some.
    pub(crate) fn text(&mut self, text: &str) {
        if !text.is_empty() {
            self.events.push(Event::Text(text.to_owned()));
        }
    }

    /// What the model thinks, where there is some.
    pub(crate) fn reasoning(&mut self, text: &str) {
        if !text.is_empty() {
            self.events.push(Event::Reasoning(text.to_owned()));
        }
    }

    /// Our id for a call. An id that came before is told.
    pub(crate) fn assign(&mut self, wire: Wire) -> String {
        let (id, error) = self.ids.assign(wire);
        self.events.extend(error.map(Event::Error));
        id
    }

    /// Reads a text as what the provider says it sends; what is not that is told.
    pub(crate) fn parse<'t, T: Deserialize<'t>>(&mut self, text: &'t str) -> Option<T> {
        let parsed = serde_json::from_str(text);
        match (std::mem::take(&mut self.guess), &parsed) {
            (Guess::Open, Err(_)) => {
                self.guess = Guess::Wrong;
                return None;
            }
            (guess @ Guess::Wrong, _) => self.guess = guess,
            _ => {}
        }
        let tell = |error: serde_json::Error| {
            self.replaced = replaced(text).filter(|_| self.replaced.is_none());
            self.error(malformed(error.to_string(), text));
        };
        parsed.map_err(tell).ok()
    }

    /// Tells an item of the message.
    pub(crate) fn item(&mut self, text: &str) {
        if let Some(value) = self.parse(text) {
            self.push(Event::Item(value));
        }
    }

    /// Tells the error that an answer is or holds; where it is none, it is kept as unknown.
    pub(crate) fn provider_error(&mut self, text: &str) {
        match serde_json::from_str(text).ok().as_ref().and_then(provider_error) {
            Some(error) => self.error(error),
            None => self.unknown(text),
        }
    }

    /// Keeps what the protocol does not know.
    pub(crate) fn unknown(&mut self, text: &str) {
        if let Some(value) = self.parse(text) {
            self.push(Event::Unknown(value));
        }
    }
}

/// A protocol whose messages come as bytes.
#[derive(Default)]
pub(crate) struct Framed<C> {
    codec: C,
    framing: Framing,
    ids: Ids,
    form: ResultForm,
}

impl<C: Codec> Framed<C> {
    /// With a codec that is not the default one.
    #[allow(dead_code)] // for providers that have several
    pub(crate) fn new(codec: C) -> Self {
        Self { codec, framing: Framing::default(), ids: Ids::default(), form: ResultForm::default() }
    }
}

impl<C: Codec> Protocol for Framed<C> {
    fn provider(&self) -> Provider {
        self.codec.provider()
    }

    fn push(&mut self, bytes: &[u8]) -> Vec<Event> {
        // What one call takes, the beginning of the message and its end.
        let mut events = Vec::with_capacity(7);
        let mut out = Out { events: &mut events, ids: &mut self.ids, replaced: None, guess: Guess::Right };
        self.framing.push(bytes, &mut |frame| read(&mut self.codec, frame, &mut out));
        events
    }

    fn push_event(&mut self, event: &Value) -> Vec<Event> {
        let mut events = Vec::new();
        let mut out = Out { events: &mut events, ids: &mut self.ids, replaced: None, guess: Guess::Right };
        read(&mut self.codec, Frame::Event { name: "", text: &event.to_string() }, &mut out);
        events
    }

    fn finish(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        let mut out = Out { events: &mut events, ids: &mut self.ids, replaced: None, guess: Guess::Right };
        self.framing.finish(&mut |frame| read(&mut self.codec, frame, &mut out));
        self.codec.finish(&mut out);
        // An event that was cut off is a message that was: told once.
        let mut told = false;
        let cut = |event: &Event| matches!(event, Event::Error(ProtocolError::Truncated { call_id: None }));
        events.retain(|event| !cut(event) || !std::mem::replace(&mut told, true));
        events
    }

    fn encode(&self, responses: &[ToolResponse]) -> Value {
        let answers = responses.iter().map(|response| {
            let (id, tool) = (response.meta().call_id().unwrap_or_default(), response.meta().tool());
            Answer { id, tool, wire: self.ids.wire(id), result: response.for_model(self.form) }
        });
        self.codec.encode(&answers.collect::<Vec<_>>())
    }

    fn result_form(&mut self, form: ResultForm) {
        self.form = form;
    }

    fn request(&self, request: &Request<'_>) -> Value {
        self.codec.request(request)
    }
}

/// Hands a frame to the codec; `false` where it was a guess and wrong.
fn read<C: Codec>(codec: &mut C, frame: Frame<'_>, out: &mut Out<'_>) -> bool {
    match frame {
        Frame::Guess(text) => {
            out.guess = Guess::Open;
            codec.read("", text, out);
            return std::mem::take(&mut out.guess) != Guess::Wrong;
        }
        Frame::Event { name, text } => {
            codec.read(name, text, out);
            if let Some(text) = out.replaced.take() {
                codec.read(name, &text, out);
                out.replaced = None;
            }
        }
        Frame::Done => codec.done(out),
        Frame::Problem(error) => out.error(error),
    }
    true
}
