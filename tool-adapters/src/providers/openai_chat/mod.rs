//! OpenAI's Chat Completions, as OpenAI and the many servers that do the same speak it.

pub(crate) mod read;
pub(crate) mod wire;
pub(crate) mod write;

#[cfg(test)]
mod tests;

use crate::providers::codec;
use crate::providers::codec::{Answer, Codec, Out};
use crate::providers::event::Request;
use crate::providers::openai_chat::read::Reader;
use crate::providers::openai_chat::wire::Entry;
use crate::providers::provider::Provider;
use crate::providers::spec::{BEARER, Endpoint, HttpEndpoint, ModelUrls, ProviderSpec, Server, UrlPath, segments};
use serde_json::Value;

/// The facts of Chat Completions.
pub(crate) const SPEC: ProviderSpec = ProviderSpec {
    turn_id: "openai-chat",
    otel_name: "openai",
    biller: None,
    endpoint: Endpoint::Http(HttpEndpoint {
        server: OPENAI,
        headers: &[],
        path: |_, _| segments(&["chat", "completions"]),
        stream_query: None,
        streams: true,
    }),
    urls: Some(ModelUrls { domain: None, model: model_of_url }),
    binary_frames: false,
};

/// OpenAI's server.
pub(crate) const OPENAI: Server = Server {
    base_url: "https://api.openai.com/v1",
    base_url_env: &["OPENAI_BASE_URL"],
    region_env: &[],
    key_env: &["OPENAI_API_KEY"],
    key_header: BEARER,
    key_required: true,
};

/// Azure names the model's deployment in the path. Embeddings are recognised too, as they have a cost.
fn model_of_url(path: &UrlPath<'_>) -> Option<Option<String>> {
    match (path.parent, path.last) {
        ("chat", "completions") => Some(path.segment_after("deployments")),
        ("v1", "embeddings") => Some(None),
        (_, "embeddings") => path.segment_after("deployments").map(Some),
        _ => None,
    }
}

/// The protocol.
pub(crate) type OpenAiChat = codec::Framed<Chat>;

#[derive(Debug, Default)]
pub(crate) struct Chat {
    reader: Reader,
}

impl Codec for Chat {
    fn provider(&self) -> Provider {
        Provider::OpenAiChat
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
        write::encode(answers)
    }

    fn request(&self, request: &Request<'_>) -> Value {
        write::request(request)
    }
}
