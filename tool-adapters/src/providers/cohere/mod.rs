//! Cohere's chat, version 2.

pub(crate) mod read;

#[cfg(test)]
mod tests;

use crate::providers::body;
use crate::providers::body::{add_tools, finished, function_call, system};
use crate::providers::codec::{Answer, Codec, Framed, Out};
use crate::providers::event::Request;
use crate::providers::provider::Provider;
use crate::providers::spec::{BEARER, Endpoint, HttpEndpoint, ModelUrls, ProviderSpec, Server, segments};
use serde_json::{Map, Value, json};
use tool_core::call::ModelResult;
use tool_core::session::{Message, RawTurn};
use tool_core::{Content, ToolCall};

/// The facts of Cohere's chat.
pub(crate) const SPEC: ProviderSpec = ProviderSpec {
    turn_id: "cohere",
    otel_name: "cohere",
    biller: Some("cohere"),
    endpoint: Endpoint::Http(HttpEndpoint {
        server: Server {
            base_url: "https://api.cohere.com",
            base_url_env: &["CO_API_URL"],
            region_env: &[],
            key_env: &["CO_API_KEY", "COHERE_API_KEY"],
            key_header: BEARER,
            key_required: true,
        },
        headers: &[],
        path: |_, _| segments(&["v2", "chat"]),
        stream_query: None,
        streams: true,
    }),
    urls: Some(ModelUrls { domain: None, model: |path| ((path.parent, path.last) == ("v2", "chat")).then_some(None) }),
    binary_frames: false,
};

/// The protocol.
pub(crate) type Cohere = Framed<CohereCodec>;

#[derive(Debug, Default)]
pub(crate) struct CohereCodec {
    reader: read::Reader,
}

impl Codec for CohereCodec {
    fn provider(&self) -> Provider {
        Provider::Cohere
    }

    fn read(&mut self, _name: &str, text: &str, out: &mut Out<'_>) {
        self.reader.read(text, out);
    }

    fn finish(&mut self, out: &mut Out<'_>) {
        self.reader.finish(out);
    }

    fn encode(&self, answers: &[Answer<'_>]) -> Value {
        answers.iter().map(|answer| result(answer.wire_id(), &answer.result)).collect()
    }

    fn request(&self, request: &Request<'_>) -> Value {
        let mut body = Map::new();
        body.insert("model".to_owned(), request.model.into());
        let history = request.history.iter().filter_map(|message| told(message, request));
        body.insert("messages".to_owned(), system(request).into_iter().chain(history).collect());
        add_tools(&mut body, request, ("NONE", "REQUIRED"));
        body.insert("stream".to_owned(), request.stream.into());
        if let Some(most) = request.max_tokens {
            body.insert("max_tokens".to_owned(), most.into());
        }
        finished(body, request)
    }
}

fn told(message: &Message, request: &Request<'_>) -> Option<Value> {
    match message {
        Message::User(text) => Some(json!({"role": "user", "content": text})),
        Message::Assistant { text, calls, native } => assistant(text.as_deref(), calls, native.as_ref(), request),
        Message::Result { call_id, result: told, .. } => Some(result(call_id, told)),
        _ => None,
    }
}

/// What the model said. Its plan goes back with it; its citations do not, as they point into a text that may have been
/// changed.
fn assistant(text: Option<&str>, calls: &[ToolCall], native: Option<&RawTurn>, request: &Request<'_>) -> Option<Value> {
    let mut message = json!({"role": "assistant"});
    if let Some(text) = text {
        message["content"] = text.into();
    }
    if !calls.is_empty() {
        message["tool_calls"] = calls.iter().map(|call| function_call(call.id(), call, request)).collect();
        let native = native.filter(|native| native.provider == Provider::Cohere.id());
        let plan = native.and_then(|native| native.items.iter().find_map(|item| item.get("tool_plan")));
        if let Some(plan) = plan {
            message["tool_plan"] = plan.clone();
        }
    }
    (text.is_some() || !calls.is_empty()).then_some(message)
}

/// A result: text, or parts of text and documents. There is no mark for an error: its message says so.
fn result(id: &str, result: &ModelResult) -> Value {
    let content = match result.content() {
        Some(parts) => parts.iter().map(part).collect(),
        None => Value::from(&*result.text),
    };
    json!({"role": "tool", "tool_call_id": id, "content": content})
}

fn part(part: &Content) -> Value {
    match part {
        Content::Resource { uri, text: Some(text), .. } => {
            json!({"type": "document", "document": {"id": uri, "data": {"text": text}}})
        }
        part => json!({"type": "text", "text": body::text_of(part)}),
    }
}
