//! Mistral's chat: read as Chat Completions are, written a little otherwise.

#[cfg(test)]
mod tests;

use super::body::{add_tools, finished, function_call, system};
use super::codec::{Answer, Codec, Framed, Out};
use super::openai_chat::Reader;
use super::{Request, ids, results};
use crate::Provider;
use serde_json::{Map, Value, json};
use tool_core::ModelResult;
use tool_core::runtime::Message;

/// The protocol.
pub(super) type Mistral = Framed<MistralCodec>;

#[derive(Debug, Default)]
pub(super) struct MistralCodec {
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
        body.insert("messages".to_owned(), system(request).into_iter().chain(history).collect());
        add_tools(&mut body, request, ("none", "any"));
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
        Message::Assistant { text, calls, .. } if calls.is_empty() => {
            text.as_deref().map(|text| json!({"role": "assistant", "content": text}))
        }
        Message::Assistant { text, calls, .. } => {
            let calls = calls.iter().map(|call| function_call(&ids::mistral(call.id()), call, request));
            let text = text.as_deref().unwrap_or_default();
            Some(json!({"role": "assistant", "content": text, "tool_calls": calls.collect::<Value>()}))
        }
        Message::Result { call_id, tool, result: told } => {
            let name = super::body::wire_name(request, tool);
            Some(result(&ids::mistral(call_id), name, told))
        }
        _ => None,
    }
}

/// A result. There is no mark for an error: its message says so.
fn result(id: &str, name: &str, result: &ModelResult) -> Value {
    json!({"role": "tool", "tool_call_id": id, "name": name, "content": results::text(result)})
}
