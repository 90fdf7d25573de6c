//! Gemini Live, over a WebSocket: each message is one JSON text.
//!
//! - What the session needs besides the conversation comes as `Event::Unknown`, whole: `setupComplete`, `goAway`,
//!   `sessionResumptionUpdate`, and `inputTranscription`, what the user has said.
//! - `outputTranscription` is what the model says, so it comes as text.
//! - `request` gives the `setup` message; `Request::extra` is laid over the members of `setup`. The choice of tools has
//!   no place there, nor has the history.
//! - Answers that want no reply are `SILENT`. The further answers of a call that tells how far it is (`<id>_update_N`,
//!   `<id>_final`) go out under the call's own id, `WHEN_IDLE`: the model speaks of them as soon as it does not
//!   interrupt anybody by it. That only holds for functions that are declared `NON_BLOCKING`; of others the server takes
//!   the first answer. L24
//! - Calls that the server has withdrawn are not answered.

pub(crate) mod live;

#[cfg(test)]
mod tests;

use crate::providers::body;
use crate::providers::body::merged;
use crate::providers::codec::{Answer, Codec, Out};
use crate::providers::event::{Event, Finish, ProtocolError, Request, provider_error};
use crate::providers::fields::{Json, Object, Objects, Text};
use crate::providers::gemini::GOOGLE;
use crate::providers::gemini::read::{Form, call, read};
use crate::providers::gemini::wire::{Call, Content, Counts};
use crate::providers::gemini::write::{function_response, instruction};
use crate::providers::gemini_live::live::GeminiLiveMessages;
use crate::providers::ids::Wire;
use crate::providers::provider::Provider;
use crate::providers::spec::{Endpoint, LiveEndpoint, ProviderSpec, Server};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::{HashMap, HashSet};

/// The facts of Live.
pub(crate) const SPEC: ProviderSpec = ProviderSpec {
    turn_id: "gemini-live",
    otel_name: "gcp.gemini",
    biller: Some("google"),
    endpoint: Endpoint::WebSocket(LiveEndpoint {
        server: Server { base_url: "wss://generativelanguage.googleapis.com", ..GOOGLE },
        path: "ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent",
        model_query: None,
        audio_rate: 16_000,
        confirms_setup: true,
        interruption_ends_response: true,
        messages: &GeminiLiveMessages,
    }),
    urls: None,
    binary_frames: false,
};

/// Reads and writes what Live does.
#[derive(Debug, Default)]
pub(crate) struct GeminiLive {
    reader: Reader,
    known: Known,
}

impl Codec for GeminiLive {
    fn provider(&self) -> Provider {
        Provider::GeminiLive
    }

    fn read(&mut self, _name: &str, text: &str, out: &mut Out<'_>) {
        self.reader.read(text, &mut self.known, out);
    }

    fn finish(&mut self, out: &mut Out<'_>) {
        self.reader.finish(out);
    }

    fn encode(&self, answers: &[Answer<'_>]) -> Value {
        responses(answers, &self.known)
    }

    fn request(&self, request: &Request<'_>) -> Value {
        setup(request)
    }
}

// ---- The calls of a session, by our ids and by the server's.

#[derive(Debug, Default)]
pub(crate) struct Known {
    /// By our id.
    calls: HashMap<String, Wire>,
    /// Our id of the latest call that the server gave an id.
    ours: HashMap<String, String>,
    /// Those that the server has withdrawn: they want no answer.
    cancelled: HashSet<String>,
}

/// Which answer of a call it is. L24
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The only one, or the first of several.
    First,
    /// The call goes on.
    Update,
    /// The last of several.
    Final,
}

impl Known {
    pub(crate) fn add(&mut self, id: &str, wire: Wire) {
        self.ours.insert(wire.id.clone(), id.to_owned());
        self.calls.insert(id.to_owned(), wire);
    }

    /// Our ids of what the server has withdrawn. An id that it never gave stays as it is.
    pub(crate) fn cancel(&mut self, ids: &[String]) -> Vec<String> {
        let ours = ids.iter().map(|id| self.ours.get(id).unwrap_or(id).clone()).collect::<Vec<_>>();
        self.cancelled.extend(ours.iter().filter(|id| self.calls.contains_key(*id)).cloned());
        ours
    }

    /// The call that an answer is to, and which one it is.
    pub(crate) fn call<'a>(&'a self, id: &'a str) -> (&'a str, Option<&'a Wire>, Stage) {
        if let Some(wire) = self.calls.get(id) {
            return (id, Some(wire), Stage::First);
        }
        let update = id.rsplit_once("_update_").filter(|(_, count)| count.bytes().all(|byte| byte.is_ascii_digit()));
        let of_update = update.map(|(id, _)| (id, Stage::Update));
        let of_final = id.strip_suffix("_final").map(|id| (id, Stage::Final));
        match of_update.or(of_final).filter(|(id, _)| self.calls.contains_key(*id)) {
            Some((id, stage)) => (id, self.calls.get(id), stage),
            None => (id, None, Stage::First),
        }
    }

    pub(crate) fn is_cancelled(&self, id: &str) -> bool {
        self.cancelled.contains(id)
    }
}

// ---- Messages of the server, to events.

/// The turn that is being read.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    /// The model has begun, and not said that it is done.
    begun: bool,
}

impl Reader {
    pub(crate) fn read(&mut self, text: &str, known: &mut Known, out: &mut Out<'_>) {
        let Some(Object(message)) = out.parse::<Object<Message<'_>>>(text) else { return };
        let Some(message) = message else { return out.unknown(text) };
        let mut told = message.usage_metadata.is_some();
        if let Some(content) = &*message.server_content {
            told |= self.content(content, known, out);
        }
        if let Some(calls) = &*message.tool_call {
            (told, self.begun) = (true, true);
            for function in &calls.function_calls.0 {
                call(function, text, &mut |id, wire| known.add(id, wire), out);
            }
        }
        if let Some(cancelled) = &*message.tool_call_cancellation {
            told = true;
            let ids = known.cancel(&cancelled.ids.read::<Vec<String>>().unwrap_or_default());
            out.push(Event::Cancelled(ids));
        }
        if let Some(counts) = *message.usage_metadata {
            out.push(Event::Usage(counts.usage()));
        }
        if !message.error.text().is_empty() {
            let error = serde_json::from_str(text).ok().as_ref().and_then(provider_error);
            told |= error.is_some();
            out.events.extend(error.map(Event::Error));
        }
        if !told || message.go_away.0.is_some() || message.session_resumption_update.0.is_some() {
            out.unknown(text);
        }
    }

    /// Whether all that it says was told.
    fn content(&mut self, content: &ServerContent<'_>, known: &mut Known, out: &mut Out<'_>) -> bool {
        let mut told = content.generation_complete.or_empty() == "true";
        if let Some(turn) = &*content.model_turn {
            (told, self.begun) = (true, true);
            crate::providers::gemini::read::read(turn, Form::Live, &mut |id, wire| known.add(id, wire), out);
        }
        if let Some(said) = &*content.output_transcription {
            (told, self.begun) = (true, true);
            out.text(said.text.or_empty());
        }
        if content.interrupted.or_empty() == "true" {
            told = true;
            out.push(Event::Interrupted);
        }
        if content.turn_complete.or_empty() == "true" {
            (told, self.begun) = (true, false);
            out.push(Event::Finished(match content.turn_complete_reason.or_empty() {
                "" | "TURN_COMPLETE_REASON_UNSPECIFIED" => Finish::Stop,
                reason => Finish::Other(reason.to_owned()),
            }));
        }
        told && content.input_transcription.0.is_none()
    }

    /// The connection is closed.
    pub(crate) fn finish(&mut self, out: &mut Out<'_>) {
        if std::mem::take(&mut self.begun) {
            out.error(ProtocolError::Truncated { call_id: None });
        }
    }
}

// ---- What the server of a Live session sends.

/// A message.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Message<'a> {
    #[serde(borrow, default, alias = "server_content")]
    pub(crate) server_content: Object<ServerContent<'a>>,
    #[serde(borrow, default, alias = "tool_call")]
    pub(crate) tool_call: Object<ToolCall<'a>>,
    #[serde(borrow, default, alias = "tool_call_cancellation")]
    pub(crate) tool_call_cancellation: Object<Cancellation<'a>>,
    #[serde(default, alias = "usage_metadata")]
    pub(crate) usage_metadata: Object<Counts>,
    #[serde(borrow, default)]
    pub(crate) error: Json<'a>,
    /// For the transport: the connection will be closed soon.
    #[serde(borrow, default, alias = "go_away")]
    pub(crate) go_away: Json<'a>,
    /// For the transport: what the session can be taken up again with.
    #[serde(borrow, default, alias = "session_resumption_update")]
    pub(crate) session_resumption_update: Json<'a>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ServerContent<'a> {
    #[serde(borrow, default, alias = "model_turn")]
    pub(crate) model_turn: Object<Content<'a>>,
    #[serde(borrow, default, alias = "turn_complete")]
    pub(crate) turn_complete: Text<'a>,
    #[serde(borrow, default, alias = "turn_complete_reason")]
    pub(crate) turn_complete_reason: Text<'a>,
    #[serde(borrow, default, alias = "generation_complete")]
    pub(crate) generation_complete: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) interrupted: Text<'a>,
    /// What the user has said, as it is understood.
    #[serde(borrow, default, alias = "input_transcription")]
    pub(crate) input_transcription: Json<'a>,
    #[serde(borrow, default, alias = "output_transcription")]
    pub(crate) output_transcription: Object<Transcription<'a>>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Transcription<'a> {
    #[serde(borrow, default)]
    pub(crate) text: Text<'a>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToolCall<'a> {
    #[serde(borrow, default, alias = "function_calls")]
    pub(crate) function_calls: Objects<Call<'a>>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Cancellation<'a> {
    #[serde(borrow, default)]
    pub(crate) ids: Json<'a>,
}

// ---- What the client of a Live session sends.

/// The answers to calls that still want one.
pub(crate) fn responses(answers: &[Answer<'_>], known: &Known) -> Value {
    let responses = answers.iter().filter_map(|answer| response(answer, known));
    json!({"toolResponse": {"functionResponses": responses.collect::<Vec<_>>()}})
}

fn response(answer: &Answer<'_>, known: &Known) -> Option<Value> {
    let (id, wire, stage) = known.call(answer.id);
    if known.is_cancelled(id) {
        return None;
    }
    let (wire_id, name) = wire.map_or((id, answer.tool), |wire| (wire.id.as_str(), wire.name.as_str()));
    let mut response = function_response(wire_id, name, &answer.result);
    let scheduling = match stage {
        _ if !answer.result.reply => Some("SILENT"),
        Stage::First => None,
        Stage::Update | Stage::Final => Some("WHEN_IDLE"),
    };
    response.extend(scheduling.map(|scheduling| ("scheduling".to_owned(), scheduling.into())));
    if stage == Stage::Update {
        response.insert("willContinue".to_owned(), true.into());
    }
    Some(Value::Object(response))
}

/// The message that sets up the session.
pub(crate) fn setup(request: &Request<'_>) -> Value {
    let model = match request.model {
        model if model.contains('/') => model.to_owned(),
        model => format!("models/{model}"),
    };
    let mut setup = Map::from_iter([("model".to_owned(), model.into())]);
    setup.extend(instruction(request));
    if let Some(most) = request.max_tokens {
        setup.insert("generationConfig".to_owned(), json!({"maxOutputTokens": most}));
    }
    if !request.declarations.is_empty() {
        setup.insert("tools".to_owned(), body::tools(request));
    }
    json!({"setup": merged(setup, request)})
}
