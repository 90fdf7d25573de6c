//! The reader of server events, and the messages of the client.

use crate::accepted_parts::AcceptedParts;
use crate::codec::{CallIds, EventSink, MessageReader, ResponseOrigin, ToolAnswer};
use crate::event::{Event, ProtocolError, malformed};
use crate::hosts::Host;
use crate::lenient::{RawObject, parse_object};
use crate::message_parts::MediaPart;
use crate::openai_responses::items::{OutputItem, ResponseEvent, ResponseObject};
use crate::openai_responses::output::{Appearance, ItemDelta, ItemNumber, OutputItems};
use crate::part_form::{PartForm, write_parts};
use crate::request::{Request, RequestBody, argument_text};
use crate::result_files::{FilesOfResults, SplitResult};
use crate::spec::{HeardText, LiveMessage, LiveMessages};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use tool_core::call::ModelResult;
use tool_core::session::{Message, ToolChoice, UserMessage};
use tool_core::text::hex;
use tool_core::trace::TokenUsage;
use tool_core::{Content, ToolCall};

/// Reads Realtime.
#[derive(Debug, Default)]
pub(crate) struct RealtimeReader {
    items: OutputItems,
    origin: ResponseOrigin,
    begun: bool,
    /// The id of the previous response, until the next one begins.
    previous: String,
    /// The MIME type of the audio, by the session.
    mime_type: Option<String>,
    /// The model, by the session.
    model: String,
}

impl MessageReader for RealtimeReader {
    fn read(
        &mut self,
        _name: &str,
        text: &str,
        sink: &mut EventSink<'_>,
    ) -> serde_json::Result<()> {
        let Some(mut event) = parse_object::<ResponseEvent<'_>>(text)? else {
            sink.error(malformed("expected an object", text));
            return Ok(());
        };
        let response = event.response.0.take();
        let kind = event.kind.as_str();
        if kind == "response.done" && self.repeats_end(response.as_ref()) {
            return Ok(());
        }
        self.begun |= kind.starts_with("response.");
        if let Some(response) = response.as_ref().filter(|_| self.begun) {
            self.origin.emit(response.id.as_str(), &self.model, sink);
        }
        match kind {
            "response.output_item.added" => {
                if let Some(item) = &event.item.object {
                    self.items.begin(item, None);
                }
            }
            "response.output_item.done" => {
                return self.complete_item(&event.item, Appearance::Done, sink);
            }
            // The older names have no `output_`.
            "response.output_text.delta"
            | "response.text.delta"
            | "response.output_audio_transcript.delta"
            | "response.audio_transcript.delta" => {
                let item = self.items.of_piece(event.item_id.as_str(), None);
                self.items.append(
                    item,
                    ItemDelta::Text,
                    event.delta.value.0.unwrap_or_default(),
                    sink,
                );
            }
            "response.output_audio.delta" | "response.audio.delta" => {
                let data = event.delta.as_str().to_owned();
                let mime_type = self
                    .mime_type
                    .clone()
                    .unwrap_or_else(|| "audio/pcm;rate=24000".to_owned());
                sink.push(Event::Audio { data, mime_type });
            }
            "response.function_call_arguments.delta" => {
                let item = self.identify_call(&event);
                self.items.append(
                    item,
                    ItemDelta::Arguments,
                    event.delta.value.0.unwrap_or_default(),
                    sink,
                );
            }
            "response.function_call_arguments.done" => {
                // An object is whole, and its call is emitted; anything else may have been
                // interrupted.
                let item = self.identify_call(&event);
                self.items
                    .set_arguments(item, &event.arguments.text(), sink);
                self.items.complete_whole_call(item, sink);
            }
            "response.done" => return self.end(&response.unwrap_or_default(), sink),
            "input_audio_buffer.speech_started" => sink.push(Event::Interrupted),
            "session.created" | "session.updated" => return self.read_session(text, sink),
            "error" => return sink.error_or_unknown(text),
            kind if is_redundant(kind) => {}
            _ => return sink.unknown(text),
        }
        Ok(())
    }

    fn finish(&mut self, sink: &mut EventSink<'_>) {
        if std::mem::take(&mut self.begun) {
            self.items.truncate(sink);
            sink.error(ProtocolError::Truncated { call_id: None });
        }
        self.items = OutputItems::default();
        self.origin = ResponseOrigin::default();
    }
}

impl RealtimeReader {
    /// Returns true for the end of the previous response that comes once more: its calls are
    /// emitted.
    fn repeats_end(&self, response: Option<&ResponseObject<'_>>) -> bool {
        let id = response.map_or("", |response| response.id.as_str());
        !self.begun && !id.is_empty() && id == self.previous
    }

    /// Begins the call of an event if its item was lost: the pieces have the call's id, and the
    /// last one its name too.
    fn identify_call(&mut self, event: &ResponseEvent<'_>) -> ItemNumber {
        let item = self.items.of_piece(event.item_or_call_id(), None);
        if !event.call_id.as_str().is_empty() {
            self.items
                .identify(item, event.call_id.as_str(), event.name.as_str());
        }
        item
    }

    fn complete_item(
        &mut self,
        output: &RawObject<'_, OutputItem<'_>>,
        appearance: Appearance,
        sink: &mut EventSink<'_>,
    ) -> serde_json::Result<()> {
        let Some(item) = &output.object else {
            return Ok(());
        };
        let is_new = self.items.complete(item, None, appearance, sink);
        // Texts and calls are events already. The session keeps them itself.
        let is_own = !matches!(item.kind.as_str(), "message" | "function_call");
        if is_new && is_own {
            sink.item(output.raw)
        } else {
            Ok(())
        }
    }

    fn end(
        &mut self,
        response: &ResponseObject<'_>,
        sink: &mut EventSink<'_>,
    ) -> serde_json::Result<()> {
        let is_complete = response.status.as_str() == "completed";
        for output in response.output.0.iter().flatten() {
            let is_call = output
                .object
                .as_ref()
                .is_some_and(|item| item.call_kind().is_some());
            // A call that was not whole before the response failed does not run.
            if is_call && !is_complete {
                continue;
            }
            self.complete_item(output, Appearance::Listed, sink)?;
        }
        self.items.end(response, response.status.as_str(), sink);
        self.items = OutputItems::default();
        self.origin = ResponseOrigin::default();
        self.begun = false;
        response.id.as_str().clone_into(&mut self.previous);
        Ok(())
    }

    fn read_session(&mut self, text: &str, sink: &mut EventSink<'_>) -> serde_json::Result<()> {
        let event = serde_json::from_str::<Value>(text)?;
        if let Some(model) = event.pointer("/session/model").and_then(Value::as_str) {
            model.clone_into(&mut self.model);
        }
        let format = event.pointer("/session/audio/output/format");
        if let Some((format, kind)) =
            format.and_then(|format| Some((format, format.get("type")?.as_str()?)))
        {
            self.mime_type = Some(match format.get("rate").and_then(Value::as_u64) {
                Some(rate) => format!("{kind};rate={rate}"),
                None => kind.to_owned(),
            });
        }
        sink.unknown(text)
    }
}

/// Returns true for beginnings and ends whose content comes with other events.
fn is_redundant(kind: &str) -> bool {
    kind == "response.created"
        || kind.starts_with("response.content_part.")
        || kind
            .strip_prefix("response.")
            .is_some_and(|rest| rest.rsplit('.').next() == Some("done"))
}

/// Writes the event that adds an item to the conversation.
#[allow(clippy::needless_pass_by_value)] // the item is new
fn create(item: Value) -> Value {
    json!({"type": "conversation.item.create", "item": item})
}

pub(crate) struct RealtimeParts;

impl PartForm for RealtimeParts {
    fn text(text: &str) -> Value {
        json!({"type": "input_text", "text": text})
    }

    fn image(image: &MediaPart<'_>) -> Option<Value> {
        Some(json!({"type": "input_image", "image_url": image.url()}))
    }

    fn sound(sound: &MediaPart<'_>) -> Option<Value> {
        Some(json!({"type": "input_audio", "audio": sound.base64()?}))
    }
}

/// Writes a message of the user; `None` for one without content.
fn user_item(parts: &[Content], accepted: &AcceptedParts) -> Option<Value> {
    let content = write_parts::<RealtimeParts>(parts, accepted);
    (!content.is_empty()).then(|| json!({"type": "message", "role": "user", "content": content}))
}

fn message_item(role: &str, kind: &str, text: &str) -> Value {
    json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]})
}

/// Returns an id of at most 32 visible characters: the id itself, or one that depends on it alone.
fn short_id(id: &str) -> Cow<'_, str> {
    if !id.is_empty() && id.len() <= 32 && id.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Cow::Borrowed(id);
    }
    Cow::Owned(hex(Sha256::digest(id).get(..16).unwrap_or_default()))
}

fn call_item(call: &ToolCall, request: &Request<'_>) -> Value {
    let name = request.declarations.written_name(call.name());
    let arguments = argument_text(call.arguments());
    json!({"type": "function_call", "call_id": short_id(call.id()), "name": name, "arguments": arguments})
}

fn result_item(id: &str, result: &ModelResult, accepted: &AcceptedParts) -> Value {
    let output = SplitResult::of(result, accepted).text();
    json!({"type": "function_call_output", "call_id": id, "output": output})
}

/// Writes an event that adds each result, one that adds their images, as results are text only, and
/// one that asks the model to answer, unless no result wants a reply.
pub(crate) fn encode(answers: &[ToolAnswer<'_>], _ids: &CallIds, host: &Host) -> Value {
    let accepted = host.accepted_parts();
    let mut files = FilesOfResults::default();
    for answer in answers {
        files.add(&answer.name(), &answer.result, accepted);
    }
    let files = user_item(&files.take(), accepted);

    let results = answers.iter().map(|answer| {
        let id = answer.wire_id(short_id);
        create(result_item(&id, &answer.result, accepted))
    });
    let reply = answers.iter().any(|answer| answer.result.reply);
    results
        .chain(files.map(create))
        .chain(reply.then(|| json!({"type": "response.create"})))
        .collect()
}

/// Writes the event that sets up the session. The model is named by the URL, the server keeps the
/// conversation, and the caller's settings are those of the session.
pub(crate) fn request(request: &Request<'_>, _host: &Host) -> Value {
    let instructions = Some(request.instructions).filter(|text| !text.is_empty());
    let no_tools = request.declarations.is_empty();
    let auto = !no_tools && request.tool_choice == ToolChoice::Auto;
    let session = RequestBody::new(request)
        .with("type", "realtime")
        .with_some("instructions", instructions)
        .with_tools("none", "required")
        // A setting that is left out stays as the session has it.
        .with_some("tools", no_tools.then(|| json!([])))
        .with_some("tool_choice", auto.then_some("auto"))
        .with_some("max_output_tokens", request.max_tokens)
        .finish();
    json!({"type": "session.update", "session": session})
}

/// Returns true for the transcript of a piece of the user's speech.
fn is_transcribed(message: &Value) -> bool {
    message["type"] == "conversation.item.input_audio_transcription.completed"
}

/// Returns the id of the item that an event is about; empty if it names none.
fn item_id(message: &Value) -> String {
    message["item_id"].as_str().unwrap_or_default().to_owned()
}

/// The model that transcribes the user's speech, where the host has set none.
const TRANSCRIBER: &str = "gpt-4o-mini-transcribe";

/// The id of the event that sets up the session.
const SETUP_ID: &str = "setup";

/// The messages of a Realtime session.
pub(crate) struct RealtimeMessages;

impl LiveMessages for RealtimeMessages {
    fn text(&self, text: &str) -> LiveMessage {
        LiveMessage::wanting_response(create(message_item("user", "input_text", text)))
    }

    fn user(&self, message: &UserMessage, accepted: &AcceptedParts) -> LiveMessage {
        let item = user_item(message.parts(), accepted);
        LiveMessage {
            messages: item.map(create).into_iter().collect(),
            wants_response: true,
        }
    }

    fn history(&self, request: &Request<'_>, accepted: &AcceptedParts) -> Vec<Value> {
        let mut items = Vec::new();
        let mut files = FilesOfResults::default();
        for message in request.history {
            if !matches!(message, Message::Result { .. }) {
                items.extend(user_item(&files.take(), accepted));
            }
            match message {
                Message::User(said) => items.extend(user_item(said.parts(), accepted)),
                Message::Assistant { text, calls, .. } => {
                    let text = text.iter().filter(|text| !text.trim().is_empty());
                    items.extend(text.map(|text| message_item("assistant", "output_text", text)));
                    items.extend(calls.iter().map(|call| call_item(call, request)));
                }
                Message::Result {
                    call_id,
                    tool,
                    result,
                } => {
                    items.push(result_item(&short_id(call_id), result, accepted));
                    files.add(tool, result, accepted);
                }
                _ => {}
            }
        }
        items.extend(user_item(&files.take(), accepted));
        items.into_iter().map(create).collect()
    }

    fn cue(&self, _cue: &str) -> LiveMessage {
        LiveMessage {
            messages: Vec::new(),
            wants_response: true,
        }
    }

    fn committed_speech(&self, message: &Value) -> Option<String> {
        (message["type"] == "input_audio_buffer.committed").then(|| item_id(message))
    }

    fn answers_speech(&self, setup: &Value) -> bool {
        let detection = setup.pointer("/session/audio/input/turn_detection");
        // `null` turns the detection off: the host ends the speech.
        !detection
            .is_some_and(|detection| detection.is_null() || detection["create_response"] == false)
    }

    fn ends_speech(&self, message: &Value) -> bool {
        message["type"] == "input_audio_buffer.speech_stopped"
    }

    fn discards_speech(&self, message: &Value) -> bool {
        message["type"] == "input_audio_buffer.cleared"
    }

    fn untranscribed_speech(&self, message: &Value) -> Option<String> {
        (message["type"] == "conversation.item.input_audio_transcription.failed")
            .then(|| item_id(message))
    }

    fn heard(&self, message: &Value) -> Option<HeardText> {
        let is_whole = is_transcribed(message);
        let text = message
            .get("transcript")
            .filter(|_| is_whole)?
            .as_str()?
            .to_owned();
        Some(HeardText {
            text,
            is_whole,
            item_id: item_id(message),
        })
    }

    fn transcribe(&self, setup: &mut Value) {
        let Some(session) = setup.get_mut("session").and_then(Value::as_object_mut) else {
            return;
        };
        let mut settings = Some(session);
        for name in ["audio", "input"] {
            settings = settings.and_then(|settings| {
                settings
                    .entry(name)
                    .or_insert_with(|| json!({}))
                    .as_object_mut()
            });
        }
        if let Some(input) = settings {
            input
                .entry("transcription")
                .or_insert_with(|| json!({"model": TRANSCRIBER}));
        }
    }

    fn transcriber(&self, setup: &Value) -> Option<String> {
        let model = setup.pointer("/session/audio/input/transcription/model")?;
        Some(model.as_str()?.to_owned())
    }

    /// A model that is billed by the second reports no tokens.
    fn transcription_usage(&self, message: &Value) -> Option<TokenUsage> {
        if !is_transcribed(message) {
            return None;
        }
        let usage = message.get("usage")?;
        let input = usage.get("input_tokens")?.as_u64()?;
        let input_audio = usage
            .pointer("/input_token_details/audio_tokens")
            .and_then(Value::as_u64);
        Some(TokenUsage {
            input,
            input_audio: input_audio.unwrap_or_default(),
            output: usage["output_tokens"].as_u64().unwrap_or_default(),
            ..TokenUsage::default()
        })
    }

    fn audio(&self, base64: &str, _mime_type: &str) -> LiveMessage {
        json!({"type": "input_audio_buffer.append", "audio": base64}).into()
    }

    fn audio_end(&self) -> LiveMessage {
        LiveMessage::wanting_response(json!({"type": "input_audio_buffer.commit"}))
    }

    fn cancel_response(&self) -> Option<Value> {
        Some(json!({"type": "response.cancel"}))
    }

    fn request_response(&self, tool_choice: ToolChoice) -> Option<Value> {
        let mut request = json!({"type": "response.create"});
        if tool_choice == ToolChoice::None {
            request["response"] = json!({"tool_choice": "none"});
        }
        Some(request)
    }

    /// Leaves out the other settings, because the server refuses to change some of them, such as
    /// the voice.
    fn update_tools(&self, setup: &Value) -> Option<Value> {
        let mut update = setup.clone();
        let session = update.get_mut("session")?.as_object_mut()?;
        session.retain(|name, _| {
            matches!(
                name.as_str(),
                "type" | "instructions" | "tools" | "tool_choice"
            )
        });
        Some(update)
    }

    /// Takes the request for a response out of the results: the transport sends it once the model
    /// may answer.
    fn results(&self, encoded: Value) -> LiveMessage {
        let Value::Array(mut messages) = encoded else {
            return encoded.into();
        };
        let before = messages.len();
        messages.retain(|message| message["type"] != "response.create");
        LiveMessage {
            wants_response: messages.len() < before,
            messages,
        }
    }

    fn name_setup(&self, setup: &mut Value) {
        setup["event_id"] = SETUP_ID.into();
    }

    fn refusal_of_setup(&self, message: &Value) -> Option<String> {
        let error = message.get("error")?;
        if message["type"] != "error" || error["event_id"] != SETUP_ID {
            return None;
        }
        Some(match error["message"].as_str() {
            Some(reason) => reason.to_owned(),
            None => error.to_string(),
        })
    }

    fn begins_response(&self, message: &Value) -> bool {
        message["type"] == "response.created"
    }
}
