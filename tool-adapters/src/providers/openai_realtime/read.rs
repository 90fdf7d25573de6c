//! The server's events to events.

use crate::providers::calls::is_object;
use crate::providers::codec::Out;
use crate::providers::event::{Event, Origin, ProtocolError};
use crate::providers::fields::{Count, Object, Text};
use crate::providers::openai_responses::read::{Items, finish, item, own_key};
use crate::providers::openai_responses::wire::{Key, Response, Sent};
use serde::Deserialize;
use serde_json::value::RawValue;

/// The response that is being read.
#[derive(Debug)]
pub(crate) struct Reader {
    items: Items,
    origin: Origin,
    begun: bool,
    /// The id of the response before, until the next one begins.
    before: String,
    /// The form of the sound, as the session has it.
    mime_type: String,
    /// The model, as the session has it.
    model: String,
}

impl Default for Reader {
    fn default() -> Self {
        let mime_type = "audio/pcm;rate=24000".to_owned();
        Self {
            items: Items::default(),
            origin: Origin::default(),
            begun: false,
            before: String::new(),
            mime_type,
            model: String::new(),
        }
    }
}

/// What is read of a session.
#[derive(Debug, Deserialize)]
struct Session<'a> {
    #[serde(borrow, default)]
    session: Object<Settings<'a>>,
}

#[derive(Debug, Deserialize)]
struct Settings<'a> {
    #[serde(borrow, default)]
    model: Text<'a>,
    #[serde(borrow, default)]
    audio: Object<Audio<'a>>,
}

#[derive(Debug, Deserialize)]
struct Audio<'a> {
    #[serde(borrow, default)]
    output: Object<Output<'a>>,
}

#[derive(Debug, Deserialize)]
struct Output<'a> {
    #[serde(borrow, default)]
    format: Object<Format<'a>>,
}

#[derive(Debug, Deserialize)]
struct Format<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Text<'a>,
    rate: Option<Count>,
}

impl Reader {
    pub(crate) fn read(&mut self, text: &str, out: &mut Out<'_>) {
        let Some(Object(sent)) = out.parse::<Object<Sent<'_>>>(text) else { return };
        let Some(sent) = sent else { return out.unknown(text) };
        let kind = sent.kind.or_empty();
        if kind == "response.done" && self.is_told(sent.response.as_ref()) {
            return;
        }
        self.begun |= kind.starts_with("response.");
        if let Some(response) = sent.response.as_ref().filter(|_| self.begun) {
            self.origin.tell(response.id.or_empty(), &self.model, out);
        }
        match kind {
            "response.output_item.added" => self.added(&sent),
            "response.output_item.done" => self.done(sent.item, out),
            // The older names are those without `output_`.
            "response.output_text.delta"
            | "response.text.delta"
            | "response.output_audio_transcript.delta"
            | "response.audio_transcript.delta" => self.items.text(key(&sent), sent.delta.or_empty(), out),
            "response.output_audio.delta" | "response.audio.delta" => {
                let data = sent.delta.or_empty().to_owned();
                out.push(Event::Audio { data, mime_type: self.mime_type.clone() });
            }
            "response.function_call_arguments.delta" => {
                let key = key(&sent);
                self.named(&key, &sent);
                self.items.calls.append(&key, sent.delta.or_empty(), out);
            }
            "response.function_call_arguments.done" => {
                let key = key(&sent);
                self.named(&key, &sent);
                self.arguments(&key, &sent.arguments.text(), out);
            }
            "response.done" => self.over(sent.response.as_ref(), out),
            "input_audio_buffer.speech_started" => out.push(Event::Interrupted),
            "session.created" | "session.updated" => self.session(text, out),
            "error" => out.provider_error(text),
            kind if says_nothing_new(kind) => {}
            _ => out.unknown(text),
        }
    }

    pub(crate) fn finish(&mut self, out: &mut Out<'_>) {
        if std::mem::take(&mut self.begun) {
            self.items.calls.cut(out);
            out.error(ProtocolError::Truncated { call_id: None });
        }
        self.items = Items::default();
        self.origin = Origin::default();
    }

    fn added(&mut self, sent: &Sent<'_>) {
        if let Some(item) = sent.item.and_then(item) {
            self.items.added(&own_key(&item), &item);
        }
    }

    /// The pieces carry the call's id, the last one its name too: enough where the item itself was lost.
    fn named(&mut self, key: &Key, sent: &Sent<'_>) {
        if !sent.call_id.or_empty().is_empty() {
            self.items.begin(key, sent.call_id.or_empty(), sent.name.or_empty(), "");
        }
    }

    /// The arguments are all there, unless the response was interrupted: an object is whole, and told at once.
    fn arguments(&mut self, key: &Key, arguments: &str, out: &mut Out<'_>) {
        self.items.calls.set(key, arguments, out);
        if is_object(arguments) && self.items.calls.latest(key).is_some_and(|call| !call.wire.name.is_empty()) {
            self.items.calls.whole(key, out);
        }
    }

    fn done(&mut self, raw: Option<&RawValue>, out: &mut Out<'_>) {
        let Some((raw, item)) = raw.and_then(|raw| Some((raw, item(raw)?))) else { return };
        let new = self.items.over(&own_key(&item), &item, out);
        // Texts and calls are told; what the provider ran itself is not.
        if new && !matches!(item.kind.or_empty(), "message" | "function_call") {
            out.item(raw.get());
        }
    }

    fn over(&mut self, response: Option<&Response<'_>>, out: &mut Out<'_>) {
        for raw in response.and_then(Response::output).unwrap_or_default() {
            self.done(Some(raw), out);
        }
        let status = response.map_or("", |response| response.status.or_empty());
        if status == "completed" {
            self.items.calls.all_whole(out);
        } else {
            self.items.calls.cut(out);
        }
        if let Some(usage) = response.and_then(|response| response.usage.as_ref()) {
            out.push(Event::Usage(usage.usage()));
        }
        let details = response.and_then(|response| response.status_details.as_ref());
        if let Some(error) = details.and_then(|details| details.error.as_ref()) {
            let code = error.code.0.as_deref().map(str::to_owned);
            out.error(ProtocolError::Provider { code, message: error.message.or_empty().to_owned() });
        }
        out.push(Event::Finished(finish(status, details, &self.items)));
        self.items = Items::default();
        self.origin = Origin::default();
        self.begun = false;
        response.map_or("", |response| response.id.or_empty()).clone_into(&mut self.before);
    }

    /// Whether a response that is over is the one before, once more: its calls are told.
    fn is_told(&self, response: Option<&Response<'_>>) -> bool {
        let id = response.map_or("", |response| response.id.or_empty());
        !self.begun && !id.is_empty() && id == self.before
    }

    fn session(&mut self, text: &str, out: &mut Out<'_>) {
        let session = serde_json::from_str::<Session<'_>>(text).ok().and_then(|session| session.session.0);
        if let Some(model) = session.as_ref().and_then(|session| session.model.0.as_deref()) {
            model.clone_into(&mut self.model);
        }
        let audio = session.and_then(|session| session.audio.0).and_then(|audio| audio.output.0);
        if let Some(Format { kind: Text(Some(kind)), rate }) = audio.and_then(|output| output.format.0) {
            self.mime_type = match rate {
                Some(rate) => format!("{kind};rate={}", rate.0),
                None => kind.into_owned(),
            };
        }
        out.unknown(text);
    }
}

/// The same key as the item has that an event speaks of.
fn key(sent: &Sent<'_>) -> Key {
    let ids = [&sent.item_id, &sent.call_id].map(Text::or_empty);
    Key::Id(ids.into_iter().find(|id| !id.is_empty()).unwrap_or_default().to_owned())
}

/// Beginnings and ends whose content other events bring.
fn says_nothing_new(kind: &str) -> bool {
    kind == "response.created"
        || kind.starts_with("response.content_part.")
        || kind.strip_prefix("response.").is_some_and(|rest| rest.rsplit('.').next() == Some("done"))
}
