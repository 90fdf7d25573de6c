//! Messages to the session: results, the setup, and the user's text and audio.

use crate::providers::call_ids::{CallIds, WireCall};
use crate::providers::codec::ToolAnswer;
use crate::providers::gemini::write::{function_response, with_settings};
use crate::providers::request::{Request, RequestBody, tools};
use crate::providers::spec::{LiveMessage, LiveMessages, ResumptionHandle};
use serde_json::{Value, json};

/// The position of an answer among those of its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AnswerStage {
    /// The only one, or the first of several.
    First,
    /// A report of the progress.
    Update,
    /// The last of several.
    Final,
}

/// Writes the answers to calls that are not withdrawn.
pub(crate) fn encode(answers: &[ToolAnswer<'_>], ids: &CallIds) -> Value {
    let responses = answers.iter().filter_map(|answer| write_answer(answer, ids));
    json!({"toolResponse": {"functionResponses": responses.collect::<Vec<_>>()}})
}

fn write_answer(answer: &ToolAnswer<'_>, ids: &CallIds) -> Option<Value> {
    let (id, call, stage) = find_call(answer.id(), ids);
    if ids.is_withdrawn(id) {
        return None;
    }
    let (wire_id, name) = call.map_or((id, answer.name()), |call| (call.id.as_str(), call.name.as_str()));
    let mut response = function_response(wire_id, name, &answer.result);
    let scheduling = match stage {
        _ if !answer.result.reply => Some("SILENT"),
        AnswerStage::First => None,
        AnswerStage::Update | AnswerStage::Final => Some("WHEN_IDLE"),
    };
    response.extend(scheduling.map(|scheduling| ("scheduling".to_owned(), scheduling.into())));
    if stage == AnswerStage::Update {
        response.insert("willContinue".to_owned(), true.into());
    }
    Some(Value::Object(response))
}

/// Finds the call of an answer. The further answers of a call have its id with `_update_N` or `_final`.
fn find_call<'a>(id: &'a str, ids: &'a CallIds) -> (&'a str, Option<&'a WireCall>, AnswerStage) {
    if let Some(call) = ids.get(id) {
        return (id, Some(call), AnswerStage::First);
    }
    let update = id.rsplit_once("_update_").filter(|(_, count)| count.bytes().all(|byte| byte.is_ascii_digit()));
    let update = update.map(|(id, _)| (id, AnswerStage::Update));
    let last = id.strip_suffix("_final").map(|id| (id, AnswerStage::Final));
    match update.or(last).and_then(|(id, stage)| Some((id, ids.get(id)?, stage))) {
        Some((id, call, stage)) => (id, Some(call), stage),
        None => (id, None, AnswerStage::First),
    }
}

/// Writes the message that sets up the session. The choice of tools and the history have no place in it.
pub(crate) fn request(request: &Request<'_>) -> Value {
    let model = match request.model {
        model if model.contains('/') => model.to_owned(),
        model => format!("models/{model}"),
    };
    let tools = (!request.declarations.is_empty()).then(|| tools(request));
    let body = RequestBody::new(request).with("model", model);
    json!({"setup": with_settings(body, request).with_some("tools", tools).finish_merged()})
}

/// The messages of a Gemini Live session.
pub(crate) struct GeminiLiveMessages;

impl LiveMessages for GeminiLiveMessages {
    fn text(&self, text: &str) -> LiveMessage {
        json!({"realtimeInput": {"text": text}}).into()
    }

    fn audio(&self, base64: &str, mime_type: &str) -> LiveMessage {
        json!({"realtimeInput": {"audio": {"data": base64, "mimeType": mime_type}}}).into()
    }

    fn audio_end(&self) -> LiveMessage {
        json!({"realtimeInput": {"audioStreamEnd": true}}).into()
    }

    fn resumable(&self, mut setup: Value, handle: Option<&str>) -> Value {
        if let Some(setup) = setup.get_mut("setup").and_then(Value::as_object_mut) {
            let resumption = setup.entry("sessionResumption").or_insert_with(|| json!({}));
            if let (Some(handle), Some(resumption)) = (handle, resumption.as_object_mut()) {
                resumption.insert("handle".into(), handle.into());
            }
        }
        setup
    }

    fn resumption_handle(&self, message: &Value) -> Option<ResumptionHandle> {
        let update = message.get("sessionResumptionUpdate")?;
        let handle = update.get("newHandle").and_then(Value::as_str).filter(|handle| !handle.is_empty());
        let resumable = update.get("resumable").and_then(Value::as_bool).unwrap_or(handle.is_some());
        Some(handle.filter(|_| resumable).map(str::to_owned))
    }

    fn confirms_setup(&self, message: &Value) -> bool {
        message.get("setupComplete").is_some()
    }
}
