//! Answers and their chunks to events. Mistral's are read here too.

use crate::providers::calls::{Call, Calls, is_object};
use crate::providers::codec::Out;
use crate::providers::event::{Event, Finish, Origin, ProtocolError, provider_error};
use crate::providers::fields::{Json, Object, Text};
use crate::providers::ids::Wire;
use crate::providers::openai_chat::wire::{Answer, Choice, Entry, Function, Message, Part};
use crate::providers::protocol;
use std::borrow::Cow;

/// The message that is being read.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    calls: Calls<u64>,
    /// The call that the last entry spoke of.
    last: u64,
    origin: Origin,
    begun: bool,
    refused: bool,
    finish: Option<Finish>,
}

/// What an entry says.
struct Piece<'a> {
    id: &'a str,
    name: &'a str,
    arguments: Cow<'a, str>,
    kind: &'static str,
}

impl Reader {
    /// Reads a chunk or a whole answer. `name` is that of the server-sent event.
    pub(crate) fn read(&mut self, name: &str, text: &str, out: &mut Out<'_>) {
        let Some(Object(answer)) = out.parse::<Object<Answer<'_>>>(text) else { return };
        let Some(Answer { id, model, choices, usage, error }) = answer else { return out.unknown(text) };
        let reported = name == "error" || !error.text().is_empty() || choices.is_none() && usage.is_none();
        if reported && let Some(error) = serde_json::from_str(text).ok().as_ref().and_then(provider_error) {
            out.error(error);
        } else if choices.is_none() && usage.is_none() {
            return out.unknown(text);
        }
        let answered = choices.is_none() && usage.is_some();
        let choices = choices.unwrap_or_default().0;
        // Of several choices the first is read: the others answer the same.
        let first = || choices.iter().filter(|choice| choice.index.0 == 0);
        if choices.len() > first().count() {
            out.unknown(text);
        }
        // A chunk that has only the usage may come when all is told; an answer without choices is one of another kind.
        if self.begun || answered || first().next().is_some() {
            self.origin.tell(id.or_empty(), model.or_empty(), out);
        }
        first().for_each(|choice| self.choice(choice, out));
        let whole = first().any(|choice| choice.message.is_some());
        if let Some(usage) = &*usage {
            out.push(Event::Usage(usage.usage()));
        }
        if whole {
            self.over(out);
        }
    }

    /// The mark of the end.
    pub(crate) fn done(&mut self, out: &mut Out<'_>) {
        if self.begun {
            self.over(out);
        }
    }

    /// The bytes are over, with or without that mark.
    pub(crate) fn finish(&mut self, out: &mut Out<'_>) {
        if self.begun && self.finish.is_none() {
            self.calls.cut(out);
            out.error(ProtocolError::Truncated { call_id: None });
        } else if self.begun {
            self.over(out);
        }
        *self = Self::default();
    }

    fn over(&mut self, out: &mut Out<'_>) {
        self.calls.all_whole(out);
        let finish = match self.finish.take() {
            None | Some(Finish::Stop) if !self.calls.is_empty() => Finish::ToolCalls,
            None | Some(Finish::Stop) if self.refused => Finish::Filtered,
            finish => finish.unwrap_or(Finish::Stop),
        };
        out.push(Event::Finished(finish));
        *self = Self::default();
    }

    fn choice(&mut self, choice: &Choice<'_>, out: &mut Out<'_>) {
        self.begun = true;
        if let Some(delta) = &*choice.delta {
            self.said(delta, out);
            for entry in &delta.tool_calls.0 {
                self.entry(entry, out);
            }
            if let Some(function) = &*delta.function_call {
                self.piece(0, &Piece::of(&Text::default(), function, ""), out);
            }
        }
        if let Some(message) = &*choice.message {
            self.said(message, out);
            for entry in &message.tool_calls.0 {
                self.whole(&entry.piece(), out);
            }
            if let Some(function) = message.function_call.as_ref().filter(|_| message.tool_calls.0.is_empty()) {
                self.whole(&Piece::of(&Text::default(), function, ""), out);
            }
        }
        if let Some(reason) = choice.finish_reason.0.as_deref().filter(|reason| !reason.is_empty()) {
            let finish = finish(reason);
            // What was too long or held back may have been stopped in the middle of a call.
            match finish {
                Finish::Stop | Finish::ToolCalls => self.calls.all_whole(out),
                _ => self.calls.cut(out),
            }
            self.finish = Some(finish);
        }
    }

    fn said(&mut self, message: &Message<'_>, out: &mut Out<'_>) {
        let reasoning = Some(message.reasoning_content.or_empty()).filter(|text| !text.is_empty());
        out.reasoning(reasoning.unwrap_or(message.reasoning.or_empty()));
        content(message.content, out);
        out.text(message.refusal.or_empty());
        self.refused |= !message.refusal.or_empty().is_empty();
        if let Some(audio) = &*message.audio {
            out.text(audio.transcript.or_empty());
        }
    }

    /// A call of a whole answer.
    fn whole(&mut self, piece: &Piece<'_>, out: &mut Out<'_>) {
        let key = self.last;
        self.last += 1;
        self.calls.begin(key, piece.wire());
        self.calls.append(&key, &piece.arguments, out);
    }

    /// A piece of a call, or a call.
    fn entry(&mut self, entry: &Entry<'_>, out: &mut Out<'_>) {
        let key = entry.index.map_or(self.last, |index| index.0);
        self.piece(key, &entry.piece(), out);
    }

    fn piece(&mut self, key: u64, piece: &Piece<'_>, out: &mut Out<'_>) {
        self.last = key;
        match self.calls.latest(&key) {
            None => self.calls.begin(key, piece.wire()),
            Some(call) if piece.repeats(call) => return,
            Some(call) if piece.starts_after(call) => self.calls.begin(key, piece.wire()),
            Some(_) => self.calls.identify(&key, piece.id, piece.name),
        }
        self.calls.append(&key, &piece.arguments, out);
    }
}

impl<'a> Entry<'a> {
    fn piece(&'a self) -> Piece<'a> {
        match (&*self.function, &*self.custom) {
            (None, Some(custom)) => Piece::of(&self.id, custom, "custom"),
            (Some(function), _) => Piece::of(&self.id, function, ""),
            (None, None) => Piece { id: id(&self.id), name: "", arguments: Cow::Borrowed(""), kind: "" },
        }
    }
}

impl<'a> Piece<'a> {
    fn of(text: &'a Text<'_>, function: &'a Function<'_>, kind: &'static str) -> Self {
        let arguments = if kind.is_empty() { function.arguments } else { function.input };
        Self { id: id(text), name: function.name.or_empty(), arguments: arguments.text(), kind }
    }

    fn wire(&self) -> Wire {
        Wire { id: self.id.to_owned(), name: self.name.to_owned(), kind: self.kind }
    }

    /// Whether it says once more what the call says: an event that came twice, or late.
    fn repeats(&self, call: &Call<u64>) -> bool {
        let same = !self.id.is_empty() && self.id == call.wire.id;
        if call.told {
            return same || self.name.is_empty();
        }
        same && self.name == call.wire.name && is_object(&self.arguments) && self.arguments == call.arguments
    }

    /// Whether it begins another call, although `call` has its index: some servers give all of them the index 0. A new
    /// id does, and so does what comes after a whole object. Without a name it goes on: others make up a new id for
    /// each piece. What has no name yet is given it.
    fn starts_after(&self, call: &Call<u64>) -> bool {
        let nameless = self.name.is_empty() || call.wire.name.is_empty() && !call.told;
        let other_id = !self.id.is_empty() && !call.wire.id.is_empty() && self.id != call.wire.id;
        let other_name = self.name != call.wire.name && !call.arguments.is_empty();
        let after_whole = || self.arguments.trim_ascii_start().starts_with('{') && is_object(&call.arguments);
        !nameless && (call.told || other_id || other_name || after_whole())
    }
}

/// The id, where there is one: Mistral's says `null` in letters.
fn id<'a>(text: &'a Text<'_>) -> &'a str {
    Some(text.or_empty()).filter(|id| *id != "null").unwrap_or_default()
}

/// What is said: a text, or parts of text and of thoughts.
fn content(content: Json<'_>, out: &mut Out<'_>) {
    for part in parts(content) {
        match part {
            Ok(text) => out.text(&text),
            Err(part) => {
                out.text(part.text.or_empty());
                parts(part.thinking).for_each(|thought| match thought {
                    Ok(text) => out.reasoning(&text),
                    Err(part) => out.reasoning(part.text.or_empty()),
                });
            }
        }
    }
}

/// A text, or what the parts are.
fn parts(content: Json<'_>) -> impl Iterator<Item = Result<Cow<'_, str>, Part<'_>>> {
    let parts = content.objects::<Part<'_>>();
    let text = parts.is_empty().then(|| content.string()).flatten();
    text.map(Ok).into_iter().chain(parts.into_iter().map(Err))
}

fn finish(reason: &str) -> Finish {
    match reason {
        "stop" => Finish::Stop,
        "tool_calls" | "function_call" => Finish::ToolCalls,
        "length" | "model_length" => Finish::Length,
        "content_filter" => Finish::Filtered,
        other => Finish::Other(other.to_owned()),
    }
}
