//! Mistral's chat: read as Chat Completions are, written a little otherwise.

#[cfg(test)]
mod tests;

use crate::providers::body::{add_tools, finished, function_call, system};
use crate::providers::codec::{Answer, Codec, Framed, Out};
use crate::providers::event::Request;
use crate::providers::openai_chat::read::Reader;
use crate::providers::provider::Provider;
use crate::providers::spec::{BEARER, Endpoint, HttpEndpoint, ModelUrls, ProviderSpec, Server, segments};
use crate::providers::turns::GO_ON;
use crate::providers::{body, ids};
use serde_json::{Map, Value, json};
use tool_core::call::ModelResult;
use tool_core::session::Message;

/// The facts of Mistral's chat.
pub(crate) const SPEC: ProviderSpec = ProviderSpec {
    turn_id: "mistral",
    otel_name: "mistral_ai",
    biller: Some("mistral"),
    endpoint: Endpoint::Http(HttpEndpoint {
        server: Server {
            base_url: "https://api.mistral.ai",
            base_url_env: &["MISTRAL_BASE_URL"],
            region_env: &[],
            key_env: &["MISTRAL_API_KEY"],
            key_header: BEARER,
            key_required: true,
        },
        headers: &[],
        path: |_, _| segments(&["v1", "chat", "completions"]),
        stream_query: None,
        streams: true,
    }),
    // The path is that of Chat Completions too.
    urls: Some(ModelUrls {
        domain: Some("mistral.ai"),
        model: |path| ((path.parent, path.last) == ("chat", "completions")).then_some(None),
    }),
    binary_frames: false,
};

/// The protocol.
pub(crate) type Mistral = Framed<MistralCodec>;

/// What the model says where the user spoke before it had answered to results: the provider refuses one right after the
/// other.
const HEARD: &str = "I see.";

#[derive(Debug, Default)]
pub(crate) struct MistralCodec {
    reader: Reader,
}

impl Codec for MistralCodec {
    fn provider(&self) -> Provider {
        Provider::Mistral
    }

    fn read(&mut self, name: &str, text: &str, out: &mut Out<'_>) {
        self.reader.read(name, text, out);
    }

    fn done(&mut self, out: &mut Out<'_>) {
        self.reader.done(out);
    }

    fn finish(&mut self, out: &mut Out<'_>) {
        self.reader.finish(out);
    }

    fn encode(&self, answers: &[Answer<'_>]) -> Value {
        answers
            .iter()
            .map(|answer| result(&answer.conforming_id(ids::mistral), answer.name(), &answer.result))
            .collect()
    }

    fn request(&self, request: &Request<'_>) -> Value {
        let mut body = Map::new();
        body.insert("model".to_owned(), request.model.into());
        let history = request.history.iter().filter_map(|message| told(message, request));
        let messages = in_order(system(request).into_iter().chain(history));
        body.insert("messages".to_owned(), messages.into());
        add_tools(&mut body, request, ("none", "any"));
        body.insert("stream".to_owned(), request.stream.into());
        if let Some(most) = request.max_tokens {
            body.insert("max_tokens".to_owned(), most.into());
        }
        finished(body, request)
    }
}

/// The messages in an order that the provider takes: the model says something between results and the user, and does
/// not have the last word.
fn in_order(messages: impl Iterator<Item = Value>) -> Vec<Value> {
    let mut ordered = Vec::<Value>::new();
    let role = |messages: &[Value]| messages.last().map(|last| last["role"].clone()).unwrap_or_default();
    for message in messages {
        if message["role"] == "user" && role(&ordered) == "tool" {
            ordered.push(json!({"role": "assistant", "content": HEARD}));
        }
        ordered.push(message);
    }
    if role(&ordered) == "assistant" {
        ordered.push(json!({"role": "user", "content": GO_ON}));
    }
    ordered
}

fn told(message: &Message, request: &Request<'_>) -> Option<Value> {
    match message {
        Message::User(text) => Some(json!({"role": "user", "content": text})),
        Message::Assistant { text, calls, .. } if calls.is_empty() => {
            let text = text.as_deref().filter(|text| !text.is_empty());
            text.map(|text| json!({"role": "assistant", "content": text}))
        }
        Message::Assistant { text, calls, .. } => {
            let calls = calls.iter().map(|call| function_call(&ids::mistral(call.id()), call, request));
            let text = text.as_deref().unwrap_or_default();
            Some(json!({"role": "assistant", "content": text, "tool_calls": calls.collect::<Value>()}))
        }
        Message::Result { call_id, tool, result: told } => {
            let name = body::wire_name(request, tool);
            Some(result(&ids::mistral(call_id), &name, told))
        }
        _ => None,
    }
}

/// A result. There is no mark for an error: its message says so.
fn result(id: &str, name: &str, result: &ModelResult) -> Value {
    json!({"role": "tool", "tool_call_id": id, "name": name, "content": body::text(result)})
}
