//! OpenAI Realtime, by the reference of its client events, as OpenAI's SDK has it (`openai/types/realtime`).

use crate::strict::Shape::{Any, Base64, List, Map, Number, Object, OneOf, Text};
use crate::strict::{Member, Shape, Verdict, items, optional, required, rule, text};
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// The state of one session.
pub(crate) struct StrictRealtime {
    pub(crate) model: String,
    /// The ids of calls. The value is true once a call has its output.
    calls: HashMap<String, bool>,
    items: HashSet<String>,
    is_responding: bool,
    has_spoken: bool,
    voice: Option<Value>,
    has_audio: bool,
}

const FORMAT: Shape = Object(&[
    required("type", OneOf(&["audio/pcm", "audio/pcmu", "audio/pcma"])),
    optional("rate", Number),
]);

const MODALITIES: Shape = List(&OneOf(&["text", "audio"]));

const TOOL: Shape = Object(&[
    required("type", OneOf(&["function"])),
    required("name", Text),
    optional("description", Text),
    optional("parameters", Map),
]);

const SESSION: Shape = Object(&[
    required("type", OneOf(&["realtime"])),
    optional("model", Text),
    optional("instructions", Text),
    optional("tools", List(&TOOL)),
    optional("tool_choice", Any),
    optional("parallel_tool_calls", Shape::Bool),
    optional("output_modalities", MODALITIES),
    optional("max_output_tokens", Any),
    optional("reasoning", Map),
    optional("prompt", Map),
    optional(
        "include",
        List(&OneOf(&["item.input_audio_transcription.logprobs"])),
    ),
    optional("tracing", Any),
    optional("truncation", Any),
    optional(
        "audio",
        Object(&[
            optional(
                "input",
                Object(&[
                    optional("format", FORMAT),
                    optional("noise_reduction", Any),
                    optional("transcription", Any),
                    optional("turn_detection", Any),
                ]),
            ),
            optional(
                "output",
                Object(&[
                    optional("format", FORMAT),
                    optional("speed", Number),
                    optional("voice", Any),
                ]),
            ),
        ]),
    ),
]);

const RESPONSE: Shape = Object(&[
    optional("audio", Map),
    optional("conversation", OneOf(&["auto", "none"])),
    optional("input", List(&Map)),
    optional("instructions", Text),
    optional("max_output_tokens", Any),
    optional("metadata", Map),
    optional("output_modalities", MODALITIES),
    optional("parallel_tool_calls", Shape::Bool),
    optional("prompt", Map),
    optional("reasoning", Map),
    optional("tool_choice", Any),
    optional("tools", List(&TOOL)),
]);

const TYPE: Member = required("type", Text);
const EVENT_ID: Member = optional("event_id", Text);
const ITEM_ID: Member = required("item_id", Text);
const ID: Member = optional("id", Text);
const CALL_ID: Member = required("call_id", Text);
const OBJECT: Member = optional("object", OneOf(&["realtime.item"]));
const STATUS: Member = optional("status", OneOf(&["completed", "incomplete", "in_progress"]));

/// The client's events, by their types.
const EVENTS: &[(&str, Shape)] = &[
    (
        "session.update",
        Object(&[TYPE, EVENT_ID, required("session", SESSION)]),
    ),
    (
        "input_audio_buffer.append",
        Object(&[TYPE, EVENT_ID, required("audio", Base64)]),
    ),
    ("input_audio_buffer.commit", Object(&[TYPE, EVENT_ID])),
    ("input_audio_buffer.clear", Object(&[TYPE, EVENT_ID])),
    (
        "conversation.item.create",
        Object(&[
            TYPE,
            EVENT_ID,
            optional("previous_item_id", Text),
            required("item", Map),
        ]),
    ),
    (
        "conversation.item.truncate",
        Object(&[
            TYPE,
            EVENT_ID,
            ITEM_ID,
            required("content_index", Number),
            required("audio_end_ms", Number),
        ]),
    ),
    (
        "conversation.item.delete",
        Object(&[TYPE, EVENT_ID, ITEM_ID]),
    ),
    (
        "conversation.item.retrieve",
        Object(&[TYPE, EVENT_ID, ITEM_ID]),
    ),
    (
        "response.create",
        Object(&[TYPE, EVENT_ID, optional("response", RESPONSE)]),
    ),
    (
        "response.cancel",
        Object(&[TYPE, EVENT_ID, optional("response_id", Text)]),
    ),
];

/// A macro, as a constant function cannot return a reference to its array.
macro_rules! message {
    ($content:expr) => {
        Object(&[
            TYPE,
            ID,
            OBJECT,
            STATUS,
            required("role", Text),
            required("content", List(&Object($content))),
        ])
    };
}

/// The items that a client creates, by their types and roles.
const ITEMS: &[(&str, &str, Shape)] = &[
    (
        "message",
        "system",
        message!(&[
            required("type", OneOf(&["input_text"])),
            required("text", Text)
        ]),
    ),
    (
        "message",
        "user",
        message!(&[
            required("type", OneOf(&["input_text", "input_audio", "input_image"])),
            optional("text", Text),
            optional("audio", Base64),
            optional("transcript", Text),
            optional("image_url", Text),
            optional("detail", OneOf(&["auto", "low", "high"])),
        ]),
    ),
    // A client cannot add the model's audio.
    (
        "message",
        "assistant",
        message!(&[
            required("type", OneOf(&["output_text"])),
            required("text", Text)
        ]),
    ),
    (
        "function_call",
        "",
        Object(&[
            TYPE,
            ID,
            OBJECT,
            STATUS,
            CALL_ID,
            required("name", Text),
            required("arguments", Text),
        ]),
    ),
    (
        "function_call_output",
        "",
        Object(&[TYPE, ID, OBJECT, STATUS, CALL_ID, required("output", Text)]),
    ),
];

impl StrictRealtime {
    pub(crate) fn new(model: &str) -> Self {
        Self {
            model: model.to_owned(),
            calls: HashMap::new(),
            items: HashSet::new(),
            is_responding: false,
            has_spoken: false,
            voice: None,
            has_audio: false,
        }
    }

    pub(crate) fn sent(&mut self, message: &Value) {
        match text(message, "type") {
            "response.created" => self.is_responding = true,
            "response.done" => self.is_responding = false,
            "response.output_audio.delta" => self.has_spoken = true,
            "input_audio_buffer.committed" => self.has_audio = false,
            _ => {}
        }
        let output = items(&message["response"]["output"]);
        for item in output.iter().chain(message.get("item")) {
            self.items.insert(text(item, "id").to_owned());
            if item["type"] == "function_call" {
                self.calls
                    .entry(text(item, "call_id").to_owned())
                    .or_default();
            }
        }
    }

    pub(crate) fn received(&mut self, message: &Value) -> Verdict {
        let kind = text(message, "type");
        let shape = EVENTS.iter().find(|(other, _)| *other == kind);
        let (_, shape) = shape.ok_or_else(|| format!("no client event has the type `{kind}`"))?;
        shape.check("event", message)?;
        let is_active = self.is_responding;
        match kind {
            "session.update" => self.update_session(&message["session"])?,
            "input_audio_buffer.append" => self.has_audio = true,
            "input_audio_buffer.clear" => self.has_audio = false,
            "input_audio_buffer.commit" => {
                rule(
                    std::mem::take(&mut self.has_audio),
                    "input_audio_buffer_commit_empty",
                )?;
            }
            "conversation.item.create" => self.create_item(message)?,
            "response.create" if message["response"]["conversation"] != "none" => {
                rule(!is_active, "conversation_already_has_active_response")?;
                self.is_responding = true;
            }
            // The response ends with `response.done`.
            "response.cancel" => rule(is_active, "response_cancel_not_active")?,
            _ => {}
        }
        match message.get("item_id").and_then(Value::as_str) {
            Some(id) => rule(
                self.items.contains(id),
                format!("no item has the id `{id}`"),
            ),
            None => check_choice(&message["response"]["tool_choice"]),
        }
    }

    fn update_session(&mut self, session: &Value) -> Verdict {
        let model = session["model"].as_str().unwrap_or(&self.model);
        rule(model == self.model, "the model of a session cannot change")?;
        if let Some(voice) = session["audio"]["output"].get("voice") {
            rule(
                !self.has_spoken || self.voice.as_ref() == Some(voice),
                "cannot_update_voice",
            )?;
            self.voice = Some(voice.clone());
        }
        rule(
            items(&session["output_modalities"]).len() < 2,
            "a response has text or audio, not both",
        )?;
        let mut names = HashSet::new();
        for tool in items(&session["tools"]) {
            let name = text(tool, "name");
            rule(
                is_tool_name(name),
                format!("`{name}` is not the name of a tool"),
            )?;
            rule(
                names.insert(name),
                format!("the tool `{name}` is declared twice"),
            )?;
        }
        check_choice(&session["tool_choice"])
    }

    fn create_item(&mut self, message: &Value) -> Verdict {
        let (new, previous) = (&message["item"], message["previous_item_id"].as_str());
        let (kind, role) = (text(new, "type"), text(new, "role"));
        let shape = ITEMS
            .iter()
            .find(|(other, others, _)| (*other, *others) == (kind, role));
        let (.., shape) =
            shape.ok_or_else(|| format!("no item has the type `{kind}` and the role `{role}`"))?;
        shape.check("item", new)?;
        let is_known = previous.is_none_or(|id| id == "root" || self.items.contains(id));
        rule(is_known, "no item has the id of `previous_item_id`")?;
        if let Some(id) = new["id"].as_str() {
            rule(
                id.len() <= MAX_ID,
                "the id of an item has 32 characters at most",
            )?;
            rule(
                self.items.insert(id.to_owned()),
                format!("another item has the id `{id}`"),
            )?;
        }
        let id = text(new, "call_id");
        match kind {
            "function_call" => {
                rule(
                    id.len() <= MAX_ID,
                    "the id of a call has 32 characters at most",
                )?;
                rule(
                    self.calls.insert(id.to_owned(), false).is_none(),
                    format!("another call has the id `{id}`"),
                )
            }
            "function_call_output" => {
                let has_output = self
                    .calls
                    .get_mut(id)
                    .ok_or_else(|| format!("invalid_tool_call_id: `{id}`"))?;
                rule(
                    !std::mem::replace(has_output, true),
                    format!("the call `{id}` has an output"),
                )
            }
            _ => check_content(role, &new["content"]),
        }
    }
}

const MAX_ID: usize = 32;

/// Checks that each part of a user's message has the member that its type demands.
fn check_content(role: &str, content: &Value) -> Verdict {
    for part in items(content).iter().filter(|_| role == "user") {
        let member = match text(part, "type") {
            "input_text" => "text",
            "input_audio" => "audio",
            _ => "image_url",
        };
        rule(
            part.get(member).is_some(),
            format!("missing field `item.content.{member}`"),
        )?;
    }
    Ok(())
}

fn check_choice(choice: &Value) -> Verdict {
    let is_valid = match choice {
        Value::Null => true,
        Value::String(word) => matches!(word.as_str(), "auto" | "none" | "required"),
        choice => choice["type"] == "function" && choice["name"].is_string(),
    };
    rule(
        is_valid,
        format!("`tool_choice` has an invalid value: {choice}"),
    )
}

fn is_tool_name(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    !name.is_empty() && name.len() <= 64 && name.bytes().all(is_allowed)
}
