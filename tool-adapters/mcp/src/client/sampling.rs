//! Requests of a server to the host's model (`sampling/createMessage`).

use crate::client::answer;
use crate::client::budget::SamplingBudget;
use crate::client::options::AskedRun;
use crate::client::rights::invalid;
use rmcp::model::{ContentBlock, ErrorData};
use serde::Deserialize;
use serde_json::{Value, json};
use tool_core::Content;
use tool_core::call::{AskError, Role, SamplingAnswer, SamplingRequest};

/// The messages of a request, and the bytes of all texts in it.
const MAX_MESSAGES: usize = 200;
const MAX_BYTES: usize = 1 << 20;

/// The stop sequences and hints that are passed on, and the bytes of each.
const MAX_HINTS: usize = 16;
const MAX_HINT: usize = 200;

/// The bytes that are taken for a token where the usage is not known.
const BYTES_OF_A_TOKEN: usize = 3;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Params {
    messages: Vec<Message>,
    max_tokens: u64,
    system_prompt: Option<String>,
    temperature: Option<f64>,
    #[serde(default)]
    stop_sequences: Vec<String>,
    model_preferences: Option<Preferences>,
    #[serde(default)]
    tools: Vec<Value>,
}

#[derive(Deserialize)]
struct Message {
    role: String,
    content: Value,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Preferences {
    hints: Vec<Hint>,
    cost_priority: Option<f64>,
    speed_priority: Option<f64>,
    intelligence_priority: Option<f64>,
}

#[derive(Deserialize)]
struct Hint {
    name: Option<String>,
}

/// Asks the host's model for a server, within the budget of the call and of its session.
pub(crate) async fn sample(
    run: AskedRun<'_>,
    budget: &SamplingBudget,
    params: Value,
) -> Result<Value, ErrorData> {
    let (request, bytes) = read(params)?;
    // What the model reads counts too. A request of one token has to be left.
    let input = (bytes / BYTES_OF_A_TOKEN) as u64;
    let wanted = (input + 1, input + u64::from(request.max_tokens));
    let charge = run.spending.charge(run.ctx, run.charged, budget, wanted);
    let charge = charge.map_err(|why| ErrorData::internal_error(why, None))?;
    let max_tokens = u32::try_from(charge.tokens - input).unwrap_or(u32::MAX);
    let request = request.max_tokens(max_tokens).asked_by(&run.options.name);
    match run.ctx.sample(request).await {
        Ok(answer) => {
            if let Some(usage) = answer.usage {
                charge.correct(usage.input.saturating_add(usage.output));
            }
            Ok(written(answer))
        }
        Err(error) => {
            if let AskError::Unavailable(_) | AskError::TooMany(_) = error {
                charge.refund();
            }
            Err(ErrorData::internal_error(error.to_string(), None))
        }
    }
}

/// Reads a request. Returns it with the number of its bytes.
fn read(params: Value) -> Result<(SamplingRequest, usize), ErrorData> {
    let params = Params::deserialize(params)
        .map_err(|error| invalid(format!("the request cannot be read: {error}")))?;
    if !params.tools.is_empty() {
        return Err(invalid(
            "the client's model calls no tools of a server; leave out `tools`",
        ));
    }
    if params.messages.is_empty() || params.messages.len() > MAX_MESSAGES {
        return Err(invalid(format!(
            "expected 1 to {MAX_MESSAGES} messages, got {}",
            params.messages.len()
        )));
    }
    let mut request = SamplingRequest::default();
    let mut bytes = 0;
    for message in params.messages {
        let role = match &*message.role {
            "user" => Role::User,
            "assistant" => Role::Assistant,
            _ => {
                return Err(invalid(
                    "expected the role of a message to be `user` or `assistant`",
                ));
            }
        };
        let content = match &message.content {
            Value::Array(parts) => parts.iter().map(part).collect::<Result<Vec<_>, _>>()?,
            one => vec![part(one)?],
        };
        bytes += content.iter().map(Content::bytes).sum::<usize>();
        request = request.message(role, content);
    }
    bytes += params.system_prompt.as_ref().map_or(0, String::len);
    if bytes > MAX_BYTES {
        return Err(invalid(format!(
            "expected messages of at most {MAX_BYTES} bytes, got {bytes}"
        )));
    }
    let short = |text: &String| !text.is_empty() && text.len() <= MAX_HINT;
    request.stop_sequences = params
        .stop_sequences
        .into_iter()
        .filter(short)
        .take(MAX_HINTS)
        .collect();
    request.max_tokens = u32::try_from(params.max_tokens).unwrap_or(u32::MAX).max(1);
    request.system_prompt = params.system_prompt;
    request.temperature = params
        .temperature
        .filter(|temperature| (0.0..=2.0).contains(temperature));
    let preferences = params.model_preferences.unwrap_or_default();
    let hints = preferences.hints.into_iter().filter_map(|hint| hint.name);
    request.model_hints = hints.filter(short).take(MAX_HINTS).collect();
    let bounded =
        |priority: Option<f64>| priority.filter(|priority| (0.0..=1.0).contains(priority));
    request.cost_priority = bounded(preferences.cost_priority);
    request.speed_priority = bounded(preferences.speed_priority);
    request.intelligence_priority = bounded(preferences.intelligence_priority);
    Ok((request, bytes))
}

/// Reads a part of a message.
fn part(part: &Value) -> Result<Content, ErrorData> {
    match ContentBlock::deserialize(part) {
        Ok(block @ (ContentBlock::Text(_) | ContentBlock::Image(_) | ContentBlock::Audio(_))) => {
            Ok(answer::content(block))
        }
        _ => Err(invalid(
            "expected the content of a message to be of the type `text`, `image` or `audio`",
        )),
    }
}

/// Returns the answer as the protocol writes it. Several texts become one, as older servers read
/// one part only.
fn written(answer: SamplingAnswer) -> Value {
    let block = |content: &Content| match content {
        Content::Text { text } => json!({"type": "text", "text": text}),
        Content::Image { data, mime_type } => {
            json!({"type": "image", "data": data, "mimeType": mime_type})
        }
        Content::Audio { data, mime_type } => {
            json!({"type": "audio", "data": data, "mimeType": mime_type})
        }
        other => json!({"type": "text", "text": serde_json::to_string(other).unwrap_or_default()}),
    };
    let is_text = |content: &Content| matches!(content, Content::Text { .. });
    let content = match &*answer.content {
        [one] => block(one),
        parts if parts.iter().all(is_text) => json!({"type": "text", "text": answer.text()}),
        parts => parts.iter().map(block).collect(),
    };
    let mut written = json!({"role": "assistant", "content": content, "model": answer.model});
    if let Some(reason) = answer.stop_reason {
        written["stopReason"] = reason.into();
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(params: Value) -> String {
        match read(params) {
            Ok((request, _)) => panic!("read: {request:?}"),
            Err(error) => error.message.into_owned(),
        }
    }

    #[test]
    fn requests_that_are_too_large_or_odd_are_refused() {
        let text = |text: &str| json!({"role": "user", "content": {"type": "text", "text": text}});
        let request = |messages: Value| json!({"messages": messages, "maxTokens": 10});
        assert!(refused(json!({})).contains("cannot be read"));
        assert!(refused(request(json!([]))).contains("1 to 200"));
        assert!(refused(request(vec![text("x"); 201].into())).contains("got 201"));
        assert!(refused(request(json!([text(&"x".repeat(MAX_BYTES + 1))]))).contains("bytes"));
        assert!(
            refused(request(
                json!([{"role": "system", "content": {"type": "text", "text": "x"}}])
            ))
            .contains("role")
        );
        for kind in ["tool_use", "tool_result", "resource", "x"] {
            let content = json!({"type": kind, "id": "1", "name": "x", "input": {}, "toolUseId": "1", "content": []});
            assert!(
                refused(request(json!([{"role": "user", "content": content}])))
                    .contains("of the type"),
                "{kind}"
            );
        }
        let mut tools = request(json!([text("x")]));
        tools["tools"] = json!([{"name": "x", "inputSchema": {"type": "object"}}]);
        assert!(refused(tools).contains("calls no tools"));
    }

    #[test]
    fn numbers_and_hints_are_bounded() {
        let params = json!({
            "messages": [{"role": "user", "content": [{"type": "text", "text": "abc"}, {"type": "text", "text": "def"}]}],
            "maxTokens": u64::MAX,
            "temperature": 1e9,
            "stopSequences": vec!["x"; 1_000],
            "modelPreferences": {"hints": [{"name": "y".repeat(1_000)}, {"name": "small"}, {}], "costPriority": 7}
        });
        let (request, bytes) = read(params).expect("a request");
        assert_eq!(
            (
                request.max_tokens,
                request.temperature,
                request.cost_priority,
                bytes
            ),
            (u32::MAX, None, None, 6)
        );
        assert_eq!(
            (request.stop_sequences.len(), &*request.model_hints),
            (MAX_HINTS, &["small".to_owned()][..])
        );
    }
}
