//! From answers and their chunks to events. Mistral's are read here too.

use crate::providers::call_ids::WireCall;
use crate::providers::codec::{EventSink, MessageReader, ResponseOrigin};
use crate::providers::event::{Event, Finish, ProtocolError};
use crate::providers::lenient::{LenientObject, LenientText, RawJson};
use crate::providers::openai_chat::wire::{CallEntry, CalledFunction, ChatAnswer, ChatMessage, Choice, ContentPart};
use crate::providers::partial_calls::{PartialCall, PartialCalls, is_object};
use std::borrow::Cow;

/// Reads Chat Completions.
#[derive(Debug, Default)]
pub(crate) struct ChatReader {
    calls: PartialCalls<u64>,
    /// The key of the last entry's call.
    last: u64,
    origin: ResponseOrigin,
    begun: bool,
    refused: bool,
    finish: Option<Finish>,
}

/// The call of an entry.
struct CallPiece<'a> {
    id: &'a str,
    name: &'a str,
    arguments: Cow<'a, str>,
    kind: &'static str,
}

impl MessageReader for ChatReader {
    fn read(&mut self, name: &str, text: &str, sink: &mut EventSink<'_>) -> serde_json::Result<()> {
        let LenientObject(answer) = serde_json::from_str::<LenientObject<ChatAnswer<'_>>>(text)?;
        let Some(ChatAnswer { id, model, choices, usage, error }) = answer else { return sink.unknown(text) };
        let is_empty = choices.is_none() && usage.is_none();
        let has_error = name == "error" || !error.text().is_empty() || is_empty;
        if !(has_error && sink.provider_error(text)) && is_empty {
            return sink.unknown(text);
        }
        let usage_alone = choices.is_none() && usage.is_some();
        let choices = choices.unwrap_or_default().0;
        // Further choices are alternatives to the first.
        let first = || choices.iter().filter(|choice| choice.index.0 == 0);
        if choices.len() > first().count() {
            sink.unknown(text)?;
        }
        // The usage may come by itself after the end of the message.
        if self.begun || usage_alone || first().next().is_some() {
            self.origin.emit(id.as_str(), model.as_str(), sink);
        }
        first().for_each(|choice| self.read_choice(choice, sink));
        if let Some(usage) = &*usage {
            sink.push(Event::Usage(usage.usage()));
        }
        if first().any(|choice| choice.message.is_some()) {
            self.end(sink);
        }
        Ok(())
    }

    fn read_done(&mut self, sink: &mut EventSink<'_>) {
        if self.begun {
            self.end(sink);
        }
    }

    fn finish(&mut self, sink: &mut EventSink<'_>) {
        if self.begun && self.finish.is_none() {
            self.calls.truncate_all(sink);
            sink.error(ProtocolError::Truncated { call_id: None });
        } else if self.begun {
            self.end(sink);
        }
        *self = Self::default();
    }
}

impl ChatReader {
    fn end(&mut self, sink: &mut EventSink<'_>) {
        self.calls.complete_all(sink);
        let finish = match self.finish.take() {
            None | Some(Finish::Stop) if !self.calls.is_empty() => Finish::ToolCalls,
            None | Some(Finish::Stop) if self.refused => Finish::Filtered,
            finish => finish.unwrap_or(Finish::Stop),
        };
        sink.push(Event::Finished(finish));
        *self = Self::default();
    }

    fn read_choice(&mut self, choice: &Choice<'_>, sink: &mut EventSink<'_>) {
        self.begun = true;
        if let Some(delta) = &*choice.delta {
            self.read_text(delta, sink);
            for entry in &delta.tool_calls.0 {
                let key = entry.index.map_or(self.last, |index| index.0);
                self.read_piece(key, &entry.piece(), sink);
            }
            if let Some(function) = &*delta.function_call {
                self.read_piece(0, &CallPiece::new(&LenientText::default(), function, ""), sink);
            }
        }
        if let Some(message) = &*choice.message {
            self.read_text(message, sink);
            for entry in &message.tool_calls.0 {
                self.read_whole(&entry.piece(), sink);
            }
            if let Some(function) = message.function_call.as_ref().filter(|_| message.tool_calls.0.is_empty()) {
                self.read_whole(&CallPiece::new(&LenientText::default(), function, ""), sink);
            }
        }
        if let Some(reason) = choice.finish_reason.0.as_deref().filter(|reason| !reason.is_empty()) {
            let finish = finish_of(reason);
            // A message that is too long or withheld may have ended in the middle of a call.
            match finish {
                Finish::Stop | Finish::ToolCalls => self.calls.complete_all(sink),
                _ => self.calls.truncate_all(sink),
            }
            self.finish = Some(finish);
        }
    }

    fn read_text(&mut self, message: &ChatMessage<'_>, sink: &mut EventSink<'_>) {
        let reasoning = Some(message.reasoning_content.as_str()).filter(|text| !text.is_empty());
        sink.reasoning(reasoning.unwrap_or(message.reasoning.as_str()));
        read_content(message.content, sink);
        sink.text(message.refusal.as_str());
        self.refused |= !message.refusal.as_str().is_empty();
        if let Some(audio) = &*message.audio {
            sink.text(audio.transcript.as_str());
        }
    }

    /// Reads a call of a whole answer.
    fn read_whole(&mut self, piece: &CallPiece<'_>, sink: &mut EventSink<'_>) {
        let key = self.last;
        self.last += 1;
        self.calls.begin(key, piece.wire());
        self.calls.append(&key, &piece.arguments, sink);
    }

    /// Reads a call of a chunk, or a piece of one.
    fn read_piece(&mut self, key: u64, piece: &CallPiece<'_>, sink: &mut EventSink<'_>) {
        self.last = key;
        match self.calls.latest(&key) {
            None => self.calls.begin(key, piece.wire()),
            Some(call) if piece.repeats(call) => return,
            Some(call) if piece.begins_after(call) => self.calls.begin(key, piece.wire()),
            Some(_) => self.calls.identify(&key, piece.id, piece.name),
        }
        self.calls.append(&key, &piece.arguments, sink);
    }
}

impl<'a> CallEntry<'a> {
    fn piece(&'a self) -> CallPiece<'a> {
        match (&*self.function, &*self.custom) {
            (None, Some(custom)) => CallPiece::new(&self.id, custom, "custom"),
            (Some(function), _) => CallPiece::new(&self.id, function, ""),
            (None, None) => CallPiece { id: given_id(&self.id), name: "", arguments: Cow::Borrowed(""), kind: "" },
        }
    }
}

impl<'a> CallPiece<'a> {
    fn new(id: &'a LenientText<'_>, function: &'a CalledFunction<'_>, kind: &'static str) -> Self {
        let arguments = if kind.is_empty() { function.arguments } else { function.input };
        Self { id: given_id(id), name: function.name.as_str(), arguments: arguments.text(), kind }
    }

    fn wire(&self) -> WireCall {
        WireCall { id: self.id.to_owned(), name: self.name.to_owned(), kind: self.kind }
    }

    /// Returns true for a piece that the call has: an event that came twice, or late.
    fn repeats(&self, call: &PartialCall<u64>) -> bool {
        let same = !self.id.is_empty() && self.id == call.wire.id;
        if call.emitted {
            return same || self.name.is_empty();
        }
        same && self.name == call.wire.name && is_object(&self.arguments) && self.arguments == call.arguments
    }

    /// Returns true for a piece that begins another call with the same index: some servers give all calls the index 0.
    /// A new id begins a call, and so does anything after a whole object. A piece without a name does not, as other
    /// servers make up an id for each piece, and neither does a piece that gives a call its name.
    fn begins_after(&self, call: &PartialCall<u64>) -> bool {
        let is_nameless = self.name.is_empty() || call.wire.name.is_empty() && !call.emitted;
        let has_other_id = !self.id.is_empty() && !call.wire.id.is_empty() && self.id != call.wire.id;
        let has_other_name = self.name != call.wire.name && !call.arguments.is_empty();
        let after_whole = || self.arguments.trim_ascii_start().starts_with('{') && is_object(&call.arguments);
        !is_nameless && (call.emitted || has_other_id || has_other_name || after_whole())
    }
}

/// Returns the id, if there is one: Mistral sends the text `null` for none.
fn given_id<'a>(id: &'a LenientText<'_>) -> &'a str {
    Some(id.as_str()).filter(|id| *id != "null").unwrap_or_default()
}

/// Reads a text, or parts of text and reasoning.
fn read_content(content: RawJson<'_>, sink: &mut EventSink<'_>) {
    for part in parts(content) {
        match part {
            Ok(text) => sink.text(&text),
            Err(part) => {
                sink.text(part.text.as_str());
                parts(part.thinking).for_each(|thought| match thought {
                    Ok(text) => sink.reasoning(&text),
                    Err(part) => sink.reasoning(part.text.as_str()),
                });
            }
        }
    }
}

/// Returns the text or the parts.
fn parts(content: RawJson<'_>) -> impl Iterator<Item = Result<Cow<'_, str>, ContentPart<'_>>> {
    let parts = content.objects::<ContentPart<'_>>();
    let text = parts.is_empty().then(|| content.string()).flatten();
    text.map(Ok).into_iter().chain(parts.into_iter().map(Err))
}

fn finish_of(reason: &str) -> Finish {
    match reason {
        "stop" => Finish::Stop,
        "tool_calls" | "function_call" => Finish::ToolCalls,
        "length" | "model_length" => Finish::Length,
        "content_filter" => Finish::Filtered,
        other => Finish::Other(other.to_owned()),
    }
}
