//! Results and the setup of a session.

use crate::providers::body::{RequestBody, tools};
use crate::providers::call_ids::{CallIds, WireCall};
use crate::providers::codec::ToolAnswer;
use crate::providers::gemini::write::{function_response, with_settings};
use crate::providers::request::Request;
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
