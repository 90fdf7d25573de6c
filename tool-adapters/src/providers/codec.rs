//! The parts that each provider's protocol is made of.

use crate::providers::call_ids::{CallIds, WireCall};
use crate::providers::event::{Event, ProtocolError, provider_error};
use crate::providers::framing::frame::MAX_EVENT_BYTES;
use std::borrow::Cow;
use tool_core::ToolResponse;
use tool_core::call::ModelResult;

/// Reads one provider's messages, event by event.
pub(crate) trait MessageReader: Send {
    /// Reads one event or a whole answer. `name` is the name of a server-sent event, or empty.
    ///
    /// Returns the error of a text that is not JSON, before any event of it is emitted.
    fn read(&mut self, name: &str, text: &str, sink: &mut EventSink<'_>) -> serde_json::Result<()>;

    /// Reads the end of the stream, `[DONE]`.
    fn read_done(&mut self, _sink: &mut EventSink<'_>) {}

    /// Ends the message, which may be cut off. Another may follow.
    fn finish(&mut self, sink: &mut EventSink<'_>);
}

/// Collects the events of a reader.
pub(crate) struct EventSink<'a> {
    pub(crate) events: &'a mut Vec<Event>,
    pub(crate) ids: &'a mut CallIds,
}

impl EventSink<'_> {
    pub(crate) fn push(&mut self, event: Event) {
        self.events.push(event);
    }

    pub(crate) fn error(&mut self, error: ProtocolError) {
        self.events.push(Event::Error(error));
    }

    /// Emits a piece of text, unless it is empty.
    pub(crate) fn text(&mut self, text: &str) {
        if !text.is_empty() {
            self.events.push(Event::Text(text.to_owned()));
        }
    }

    /// Emits a piece of reasoning, unless it is empty.
    pub(crate) fn reasoning(&mut self, text: &str) {
        if !text.is_empty() {
            self.events.push(Event::Reasoning(text.to_owned()));
        }
    }

    /// Returns our id for a call. Reports an id that came before.
    pub(crate) fn assign(&mut self, call: WireCall) -> String {
        let (id, error) = self.ids.assign(call);
        self.events.extend(error.map(Event::Error));
        id
    }

    /// Emits an item of the message.
    pub(crate) fn item(&mut self, text: &str) -> serde_json::Result<()> {
        self.events.push(Event::Item(serde_json::from_str(text)?));
        Ok(())
    }

    /// Emits the error that an answer is or holds; returns false if it is none.
    pub(crate) fn provider_error(&mut self, text: &str) -> bool {
        let error = provider_error(text);
        let found = error.is_some();
        self.events.extend(error.map(Event::Error));
        found
    }

    /// Emits the error that an answer is or holds, or the answer as unknown.
    pub(crate) fn error_or_unknown(&mut self, text: &str) -> serde_json::Result<()> {
        if self.provider_error(text) { Ok(()) } else { self.unknown(text) }
    }

    /// Emits an event that the protocol does not know.
    pub(crate) fn unknown(&mut self, text: &str) -> serde_json::Result<()> {
        self.events.push(Event::Unknown(serde_json::from_str(text)?));
        Ok(())
    }

    /// Appends a piece to a text; returns false if the text has grown too large, which is reported once.
    pub(crate) fn append(&mut self, text: &mut String, piece: &str, too_large: &mut bool) -> bool {
        if !*too_large && text.len() + piece.len() > MAX_EVENT_BYTES {
            *too_large = true;
            self.error(ProtocolError::TooLarge { most: MAX_EVENT_BYTES });
        }
        if !*too_large {
            text.push_str(piece);
        }
        !*too_large
    }
}

/// Emits [`Event::Response`] once for a message: most providers name the response with each chunk.
#[derive(Debug, Default)]
pub(crate) struct ResponseOrigin {
    emitted: bool,
}

impl ResponseOrigin {
    /// Emits the id and the model, the first time that one of them is known.
    pub(crate) fn emit(&mut self, id: &str, model: &str, sink: &mut EventSink<'_>) {
        let known = |text: &str| Some(text).filter(|text| !text.is_empty()).map(str::to_owned);
        let (id, model) = (known(id), known(model));
        if !self.emitted && (id.is_some() || model.is_some()) {
            self.emitted = true;
            sink.push(Event::Response { id, model });
        }
    }
}

/// The answer to a call.
#[derive(Debug)]
pub(crate) struct ToolAnswer<'a> {
    pub(crate) response: &'a ToolResponse,
    /// The call as the provider made it.
    pub(crate) call: Option<&'a WireCall>,
    /// The text and content for the model.
    pub(crate) result: ModelResult,
}

impl<'a> ToolAnswer<'a> {
    /// Returns our id of the call.
    pub(crate) fn id(&self) -> &'a str {
        self.response.meta().call_id().unwrap_or_default()
    }

    /// Returns the id that the provider gave; empty if it gave none.
    pub(crate) fn given_id(&self) -> &'a str {
        self.call.map(|call| call.id.as_str()).unwrap_or_default()
    }

    /// Returns the id that the provider gave, or ours in a form that the provider accepts.
    pub(crate) fn wire_id(&self, conform: fn(&'a str) -> Cow<'a, str>) -> Cow<'a, str> {
        match self.given_id() {
            "" => conform(self.id()),
            id => Cow::Borrowed(id),
        }
    }

    /// Returns the tool's name at the provider.
    pub(crate) fn name(&self) -> &'a str {
        let name = self.call.map(|call| call.name.as_str()).filter(|name| !name.is_empty());
        name.unwrap_or(self.response.meta().tool())
    }
}
