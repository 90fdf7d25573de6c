//! Steps of a model in the form of each protocol, and the form of its errors.

use serde_json::{Map, Value, json};

/// A step of the model, which has reasoning and a call or a text.
pub(crate) struct Step {
    pub(crate) number: usize,
    pub(crate) said: Said,
}

pub(crate) enum Said {
    Call {
        name: &'static str,
        arguments: String,
    },
    Text(String),
}

/// The form of a protocol's answers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Form {
    /// Chat Completions, streamed.
    Chat,
    Responses,
    Messages,
    GenerateContent,
    Converse,
    Cohere,
    Ollama,
}

/// The form of a server's errors.
#[derive(Clone, Copy)]
pub(crate) enum ErrorForm {
    OpenAi,
    /// The same in a list.
    GoogleList,
    Google,
    Mistral,
    Anthropic,
    Aws,
    Cohere,
    Ollama,
    /// With a number as `code`.
    Local,
}

impl ErrorForm {
    /// Returns the status and the body of an error.
    pub(crate) fn write(self, message: &str) -> (u16, Value) {
        let google =
            json!({"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}});
        match self {
            Self::OpenAi => (
                400,
                json!({"error": {"message": message, "type": "invalid_request_error", "param": null, "code": null}}),
            ),
            Self::Local => (
                400,
                json!({"error": {"message": message, "type": "BadRequestError", "code": 400}}),
            ),
            Self::GoogleList => (400, json!([google])),
            Self::Google => (400, google),
            Self::Mistral => {
                let detail = json!([{"type": "extra_forbidden", "loc": ["body", "messages"], "msg": message}]);
                (
                    422,
                    json!({"object": "error", "message": {"detail": detail}, "type": "invalid_request_error"}),
                )
            }
            Self::Anthropic => (
                400,
                json!({"type": "error", "error": {"type": "invalid_request_error", "message": message}}),
            ),
            Self::Aws | Self::Cohere => (400, json!({"message": message})),
            Self::Ollama => (400, json!({"error": message})),
        }
    }
}

impl Step {
    /// Returns the id of the step's call, in the form that every server accepts.
    pub(crate) fn call_id(&self) -> String {
        format!("callid{:03}", self.number)
    }

    /// Returns a text that the step's message has when it goes back: the id of its call, or its text.
    pub(crate) fn key(&self) -> String {
        match &self.said {
            Said::Call { .. } => self.call_id(),
            Said::Text(text) => text.clone(),
        }
    }
}

/// What a server sends beside a text and a call, as JSON in which `#` stands for the number of the step.
#[derive(Clone, Copy)]
pub(crate) struct Reasoning {
    /// The members of a message, or its first parts.
    pub(crate) message: &'static str,
    /// The members of a call.
    pub(crate) call: &'static str,
}

impl Reasoning {
    fn of_message(self, step: &Step) -> Value {
        numbered(self.message, step)
    }

    fn of_call(self, step: &Step) -> Map<String, Value> {
        numbered(self.call, step)
            .as_object()
            .cloned()
            .unwrap_or_default()
    }

    /// Returns the texts that have to come back with a step: every text with its number.
    pub(crate) fn marks(self, step: &Step) -> Vec<String> {
        let mut marks = Vec::new();
        collect_marks(&self.of_message(step), &mut marks);
        if matches!(step.said, Said::Call { .. }) {
            collect_marks(&Value::Object(self.of_call(step)), &mut marks);
        }
        marks
    }
}

fn numbered(json: &str, step: &Step) -> Value {
    if json.is_empty() {
        return Value::Null;
    }
    serde_json::from_str(&json.replace('#', &step.number.to_string())).expect("JSON")
}

fn collect_marks(value: &Value, marks: &mut Vec<String>) {
    match value {
        Value::String(text) if text.contains("mark") => marks.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| collect_marks(item, marks)),
        Value::Object(members) => members
            .values()
            .for_each(|value| collect_marks(value, marks)),
        _ => {}
    }
}

/// Writes an answer. It is a stream for Chat Completions, and whole for the others.
pub(crate) fn write(form: Form, step: &Step, reasoning: Reasoning) -> String {
    match form {
        Form::Chat => chat(step, reasoning),
        Form::Responses => responses(step).to_string(),
        Form::Messages => messages(step).to_string(),
        Form::GenerateContent => generate_content(step).to_string(),
        Form::Converse => converse(step).to_string(),
        Form::Cohere => cohere(step, reasoning).to_string(),
        Form::Ollama => ollama(step, reasoning).to_string(),
    }
}

fn object(arguments: &str) -> Value {
    serde_json::from_str(arguments).unwrap_or_else(|_| json!({"text": arguments}))
}

fn chat(step: &Step, reasoning: Reasoning) -> String {
    let mut events = Vec::new();
    let chunk = |delta: Value, finish: Option<&str>| {
        json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
    };
    let before = reasoning.of_message(step);
    match &before {
        // Texts come in pieces.
        Value::Object(members) => {
            for (name, value) in members {
                match value.as_str() {
                    Some(text) => {
                        let (first, second) = text.split_at(text.len() / 2);
                        events.push(chunk(json!({"role": "assistant", name: first}), None));
                        events.push(chunk(json!({name: second}), None));
                    }
                    None => events.push(chunk(json!({"role": "assistant", name: value}), None)),
                }
            }
        }
        Value::Array(parts) => {
            events.push(chunk(json!({"role": "assistant", "content": parts}), None));
        }
        _ => {}
    }
    let finish = match &step.said {
        Said::Text(text) => {
            let is_parts = before.is_array();
            let content = if is_parts {
                json!([{"type": "text", "text": text}])
            } else {
                json!(text)
            };
            events.push(chunk(json!({"content": content}), None));
            "stop"
        }
        Said::Call { name, arguments } => {
            let mut call = reasoning.of_call(step);
            call.insert("index".to_owned(), json!(0));
            call.insert("id".to_owned(), json!(step.call_id()));
            call.insert("type".to_owned(), json!("function"));
            call.insert(
                "function".to_owned(),
                json!({"name": name, "arguments": ""}),
            );
            events.push(chunk(json!({"tool_calls": [call]}), None));
            let (first, second) = arguments.split_at(arguments.len() / 2);
            for piece in [first, second] {
                events.push(chunk(
                    json!({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}),
                    None,
                ));
            }
            "tool_calls"
        }
    };
    events.push(chunk(json!({}), Some(finish)));
    let events = events
        .iter()
        .map(|event| format!("data: {event}\n\n"))
        .collect::<Vec<_>>()
        .concat();
    events + "data: [DONE]\n\n"
}

fn responses(step: &Step) -> Value {
    let number = step.number;
    let thought = json!({"type": "reasoning", "id": format!("rs_{number}"), "summary": [], "encrypted_content": format!("mark-{number}-")});
    let item = match &step.said {
        Said::Text(text) => {
            json!({"type": "message", "id": format!("msg_{number}"), "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": text, "annotations": []}]})
        }
        Said::Call { name, arguments } => {
            json!({"type": "function_call", "id": format!("fc_{number}"), "status": "completed",
            "call_id": step.call_id(), "name": name, "arguments": arguments})
        }
    };
    json!({"id": "r", "object": "response", "status": "completed", "output": [thought, item]})
}

fn messages(step: &Step) -> Value {
    let number = step.number;
    let thought =
        json!({"type": "thinking", "thinking": "Hm.", "signature": format!("mark-{number}-")});
    let (block, reason) = match &step.said {
        Said::Text(text) => (json!({"type": "text", "text": text}), "end_turn"),
        Said::Call { name, arguments } => (
            json!({"type": "tool_use", "id": step.call_id(), "name": name, "input": object(arguments)}),
            "tool_use",
        ),
    };
    json!({"type": "message", "id": "m", "role": "assistant", "model": "m", "content": [thought, block],
        "stop_reason": reason, "usage": {"input_tokens": 1, "output_tokens": 1}})
}

fn generate_content(step: &Step) -> Value {
    let signature = format!("mark-{}-", step.number);
    let part = match &step.said {
        Said::Text(text) => json!({"text": text, "thoughtSignature": signature}),
        Said::Call { name, arguments } => {
            let call = json!({"id": step.call_id(), "name": name, "args": object(arguments)});
            json!({"functionCall": call, "thoughtSignature": signature})
        }
    };
    let content = json!({"role": "model", "parts": [{"text": "Hm.", "thought": true}, part]});
    json!({"candidates": [{"index": 0, "content": content, "finishReason": "STOP"}]})
}

fn converse(step: &Step) -> Value {
    let thought = json!({"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": format!("mark-{}-", step.number)}}});
    let (block, reason) = match &step.said {
        Said::Text(text) => (json!({"text": text}), "end_turn"),
        Said::Call { name, arguments } => {
            let call =
                json!({"toolUseId": step.call_id(), "name": name, "input": object(arguments)});
            (json!({"toolUse": call}), "tool_use")
        }
    };
    let message = json!({"role": "assistant", "content": [thought, block]});
    json!({"output": {"message": message}, "stopReason": reason, "usage": {"inputTokens": 1, "outputTokens": 1}})
}

fn cohere(step: &Step, reasoning: Reasoning) -> Value {
    let (message, finish) = match &step.said {
        Said::Text(text) => {
            let thought = json!({"type": "thinking", "thinking": format!("mark-{}-", step.number)});
            (
                json!({"role": "assistant", "content": [thought, {"type": "text", "text": text}]}),
                "COMPLETE",
            )
        }
        Said::Call { name, arguments } => {
            let mut message = reasoning.of_message(step);
            message["role"] = json!("assistant");
            message["tool_calls"] = json!([{"id": step.call_id(), "type": "function", "function": {"name": name, "arguments": arguments}}]);
            (message, "TOOL_CALL")
        }
    };
    json!({"id": "1", "finish_reason": finish, "message": message})
}

fn ollama(step: &Step, reasoning: Reasoning) -> Value {
    let mut message = reasoning.of_message(step);
    message["role"] = json!("assistant");
    match &step.said {
        Said::Text(text) => message["content"] = json!(text),
        Said::Call { name, arguments } => {
            message["content"] = json!("");
            message["tool_calls"] = json!([{"id": step.call_id(), "function": {"name": name, "arguments": object(arguments)}}]);
        }
    }
    json!({"model": "m", "message": message, "done": true, "done_reason": "stop", "prompt_eval_count": 1, "eval_count": 1})
}
