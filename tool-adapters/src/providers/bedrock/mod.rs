//! Bedrock's Converse. Its stream is binary frames: the events are read as JSON, each under its name, as
//! `{"contentBlockDelta": {..}}`, one a line or one by one.
//!
//! Every content block is an item, thoughts with their signatures among them. What the provider ran itself
//! (`server_tool_use`) is no call of ours.

pub(crate) mod event_stream;
pub(crate) mod read;
pub(crate) mod wire;
pub(crate) mod write;

#[cfg(test)]
mod tests;

use crate::providers::codec::{Answer, Codec, Out};
use crate::providers::event::Request;
use crate::providers::provider::Provider;
use crate::providers::spec::{BEARER, Endpoint, HttpEndpoint, ModelUrls, ProviderSpec, Server, UrlPath, segments};
use serde_json::Value;

/// The facts of Converse.
pub(crate) const SPEC: ProviderSpec = ProviderSpec {
    turn_id: "bedrock",
    otel_name: "aws.bedrock",
    biller: Some("aws"),
    endpoint: Endpoint::Http(HttpEndpoint {
        server: Server {
            base_url: "https://bedrock-runtime.{region}.amazonaws.com",
            base_url_env: &["AWS_ENDPOINT_URL_BEDROCK_RUNTIME"],
            region_env: &["AWS_REGION", "AWS_DEFAULT_REGION"],
            key_env: &["AWS_BEARER_TOKEN_BEDROCK"],
            key_header: BEARER,
            key_required: true,
        },
        headers: &[],
        path: |model, _| segments(&["model", model, "converse"]),
        stream_query: None,
        streams: false,
    }),
    urls: Some(ModelUrls { domain: None, model: model_of_url }),
    binary_frames: true,
};

fn model_of_url(path: &UrlPath<'_>) -> Option<Option<String>> {
    let converses = matches!(path.last, "converse" | "converse-stream");
    path.segment_after("model").filter(|_| converses).map(Some)
}

/// Reads and writes what Converse does.
#[derive(Debug, Default)]
pub(crate) struct Bedrock {
    reader: read::Reader,
}

impl Codec for Bedrock {
    fn provider(&self) -> Provider {
        Provider::Bedrock
    }

    fn read(&mut self, _name: &str, text: &str, out: &mut Out<'_>) {
        self.reader.read(text, out);
    }

    fn finish(&mut self, out: &mut Out<'_>) {
        self.reader.finish(out);
    }

    fn encode(&self, answers: &[Answer<'_>]) -> Value {
        write::results(answers)
    }

    fn request(&self, request: &Request<'_>) -> Value {
        write::request(request)
    }
}
