//! Anthropic's Messages.
//!
//! Every content block is an item: thoughts with their signatures, and what the provider ran itself (`server_tool_use`,
//! `mcp_tool_use` and their results), which are no calls of ours. A turn that the provider paused ends with
//! `Finish::Other("pause_turn")`: asked again with it, it goes on.

pub(crate) mod computer;
pub(crate) mod read;
pub mod tools;
pub(crate) mod wire;
pub(crate) mod write;

#[cfg(test)]
mod tests;

use crate::providers::codec::{Answer, Codec, Out};
use crate::providers::event::Request;
use crate::providers::provider::Provider;
use crate::providers::spec::{Endpoint, HttpEndpoint, ModelUrls, ProviderSpec, Server, UrlPath, segments};
use serde_json::Value;

/// The facts of Messages.
pub(crate) const SPEC: ProviderSpec = ProviderSpec {
    turn_id: "anthropic",
    otel_name: "anthropic",
    biller: Some("anthropic"),
    endpoint: Endpoint::Http(HttpEndpoint {
        server: Server {
            base_url: "https://api.anthropic.com",
            base_url_env: &["ANTHROPIC_BASE_URL"],
            region_env: &[],
            key_env: &["ANTHROPIC_API_KEY"],
            key_header: ("x-api-key", ""),
            key_required: true,
        },
        headers: &[("anthropic-version", "2023-06-01")],
        path: |_, _| segments(&["v1", "messages"]),
        stream_query: None,
        streams: true,
    }),
    urls: Some(ModelUrls { domain: None, model: model_of_url }),
    binary_frames: false,
};

/// Google serves the models under their names, as methods.
fn model_of_url(path: &UrlPath<'_>) -> Option<Option<String>> {
    if (path.parent, path.last) == ("v1", "messages") {
        return Some(None);
    }
    let at_google = path.before.contains("/publishers/anthropic/");
    path.model_of_method(&["rawPredict", "streamRawPredict"]).filter(|_| at_google).map(Some)
}

/// Reads and writes what Anthropic's Messages does.
#[derive(Debug, Default)]
pub(crate) struct Anthropic {
    reader: read::Reader,
}

impl Codec for Anthropic {
    fn provider(&self) -> Provider {
        Provider::Anthropic
    }

    fn read(&mut self, name: &str, text: &str, out: &mut Out<'_>) {
        self.reader.read(name, text, out);
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
