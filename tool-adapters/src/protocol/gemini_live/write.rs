//! What the client of a Live session sends.

use super::Known;
use super::known::Stage;
use crate::protocol::codec::Answer;
use crate::protocol::gemini::{function_response, instruction};
use crate::protocol::merge::merged;
use crate::protocol::{Request, body};
use serde_json::{Map, Value, json};

/// The answers to calls that still want one.
pub(super) fn responses(answers: &[Answer<'_>], known: &Known) -> Value {
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
pub(super) fn setup(request: &Request<'_>) -> Value {
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
