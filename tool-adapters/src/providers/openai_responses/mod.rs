//! OpenAI's Responses.

pub(crate) mod file_search;
pub(crate) mod read;
pub mod tools;
pub(crate) mod wire;
pub(crate) mod write;

#[cfg(test)]
mod tests;

use crate::providers::codec::{Answer, Codec, Framed, Out};
use crate::providers::event::Request;
use crate::providers::openai_chat::OPENAI;
use crate::providers::openai_responses::read::{Items, finish, item, own_key};
use crate::providers::openai_responses::wire::{Key, Response, Sent, Tokens};
use crate::providers::provider::Provider;
use crate::providers::spec::{Endpoint, HttpEndpoint, ModelUrls, ProviderSpec, segments};
use serde_json::Value;

/// The facts of Responses.
pub(crate) const SPEC: ProviderSpec = ProviderSpec {
    turn_id: "openai-responses",
    otel_name: "openai",
    biller: None,
    endpoint: Endpoint::Http(HttpEndpoint {
        server: OPENAI,
        headers: &[],
        path: |_, _| segments(&["responses"]),
        stream_query: None,
        streams: true,
    }),
    urls: Some(ModelUrls { domain: None, model: |path| (path.last == "responses").then_some(None) }),
    binary_frames: false,
};

/// The protocol.
pub(crate) type OpenAiResponses = Framed<Responses>;

#[derive(Debug, Default)]
pub(crate) struct Responses {
    reader: read::Reader,
}

impl Codec for Responses {
    fn provider(&self) -> Provider {
        Provider::OpenAiResponses
    }

    fn read(&mut self, _name: &str, text: &str, out: &mut Out<'_>) {
        self.reader.read(text, out);
    }

    fn finish(&mut self, out: &mut Out<'_>) {
        self.reader.finish(out);
    }

    fn encode(&self, answers: &[Answer<'_>]) -> Value {
        write::encode(answers)
    }

    fn request(&self, request: &Request<'_>) -> Value {
        write::request(request)
    }
}
