//! OpenAI's Realtime: the events of its WebSocket.

pub(crate) mod live;
pub(crate) mod read;

#[cfg(test)]
mod tests;

use crate::providers::body::{add_tools, finished};
use crate::providers::codec::{Answer, Codec, Framed, Out};
use crate::providers::event::Request;
use crate::providers::openai_chat::OPENAI;
use crate::providers::openai_realtime::live::RealtimeMessages;
use crate::providers::provider::Provider;
use crate::providers::spec::{Endpoint, LiveEndpoint, ProviderSpec, Server};
use crate::providers::{body, ids};
use serde_json::{Map, Value, json};
use tool_core::session::ToolChoice;

/// The facts of Realtime.
pub(crate) const SPEC: ProviderSpec = ProviderSpec {
    turn_id: "openai-realtime",
    otel_name: "openai",
    biller: Some("openai"),
    endpoint: Endpoint::WebSocket(LiveEndpoint {
        server: Server { base_url: "wss://api.openai.com/v1", ..OPENAI },
        path: "realtime",
        model_query: Some("model"),
        audio_rate: 24_000,
        confirms_setup: false,
        interruption_ends_response: false,
        messages: &RealtimeMessages,
    }),
    urls: None,
    binary_frames: false,
};

/// The protocol.
pub(crate) type OpenAiRealtime = Framed<Realtime>;

#[derive(Debug, Default)]
pub(crate) struct Realtime {
    reader: read::Reader,
}

impl Codec for Realtime {
    fn provider(&self) -> Provider {
        Provider::OpenAiRealtime
    }

    fn read(&mut self, _name: &str, text: &str, out: &mut Out<'_>) {
        self.reader.read(text, out);
    }

    fn finish(&mut self, out: &mut Out<'_>) {
        self.reader.finish(out);
    }

    /// Events that add the results, and one that has the model go on, unless none of them wants a reply. Results are
    /// text only.
    fn encode(&self, answers: &[Answer<'_>]) -> Value {
        let results = answers.iter().map(|answer| {
            json!({"type": "conversation.item.create", "item": {
                "type": "function_call_output",
                "call_id": answer.conforming_id(ids::openai),
                "output": body::text(&answer.result),
            }})
        });
        let reply = answers.iter().any(|answer| answer.result.reply);
        results.chain(reply.then(|| json!({"type": "response.create"}))).collect()
    }

    /// The event that sets up the session. The model stands in the address, and the conversation is the server's own;
    /// what the caller adds is laid over the session.
    fn request(&self, request: &Request<'_>) -> Value {
        let mut session = Map::new();
        session.insert("type".to_owned(), "realtime".into());
        if !request.instructions.is_empty() {
            session.insert("instructions".to_owned(), request.instructions.into());
        }
        add_tools(&mut session, request, ("none", "required"));
        // What is not said stays as the session had it.
        if request.declarations.is_empty() {
            session.insert("tools".to_owned(), json!([]));
        } else if request.tool_choice == ToolChoice::Auto {
            session.insert("tool_choice".to_owned(), "auto".into());
        }
        if let Some(most) = request.max_tokens {
            session.insert("max_output_tokens".to_owned(), most.into());
        }
        json!({"type": "session.update", "session": finished(session, request)})
    }
}
