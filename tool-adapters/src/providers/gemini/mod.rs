//! Gemini's generateContent, with `parameters` and with `parametersJsonSchema`: the conversation is the same.
//!
//! Every part is an item, with its thought signature. What the provider ran itself (`executableCode`, `toolCall` and
//! their results) is no call of ours. Calls that came without an id are answered without one. A stream is over when its
//! bytes are: `Event::Finished` comes from `finish`.

pub(crate) mod read;
pub mod tools;
pub(crate) mod wire;
pub(crate) mod write;

#[cfg(test)]
mod tests;

use crate::providers::codec::{Answer, Codec, Out};
use crate::providers::event::Request;
use crate::providers::gemini::read::{Form, call, read as read_parts};
use crate::providers::gemini::wire::{Call, Content, Counts};
use crate::providers::gemini::write::{function_response, instruction};
use crate::providers::provider::Provider;
use crate::providers::spec::{Endpoint, HttpEndpoint, ModelUrls, ProviderSpec, Server};
use serde_json::Value;

/// The facts of generateContent with `parameters`.
pub(crate) const SPEC: ProviderSpec = ProviderSpec {
    turn_id: "gemini",
    otel_name: "gcp.gemini",
    biller: Some("google"),
    endpoint: Endpoint::Http(HttpEndpoint {
        server: GOOGLE,
        headers: &[],
        path: path_of_model,
        stream_query: Some(("alt", "sse")),
        streams: true,
    }),
    urls: Some(ModelUrls {
        domain: None,
        model: |path| path.model_of_method(&["generateContent", "streamGenerateContent"]).map(Some),
    }),
    binary_frames: false,
};

/// The facts of generateContent with `parametersJsonSchema`.
pub(crate) const JSON_SCHEMA_SPEC: ProviderSpec = ProviderSpec { urls: None, ..SPEC };

/// Google's server for developers.
pub(crate) const GOOGLE: Server = Server {
    base_url: "https://generativelanguage.googleapis.com",
    base_url_env: &["GOOGLE_GEMINI_BASE_URL"],
    region_env: &[],
    key_env: &["GOOGLE_API_KEY", "GEMINI_API_KEY"],
    key_header: ("x-goog-api-key", ""),
    key_required: true,
};

/// A model with a `/` is the full name of a resource, such as `tunedModels/x`.
fn path_of_model(model: &str, stream: bool) -> Vec<String> {
    let method = if stream { "streamGenerateContent" } else { "generateContent" };
    let resource = if model.contains('/') { model.to_owned() } else { format!("models/{model}") };
    format!("v1beta/{resource}:{method}").split('/').map(str::to_owned).collect()
}

/// Reads and writes what generateContent does.
#[derive(Debug, Default)]
pub(crate) struct Gemini {
    reader: read::Reader,
    json_schema: bool,
}

impl Gemini {
    /// For tools that are declared as JSON Schema.
    pub(crate) fn json_schema() -> Self {
        Self { json_schema: true, ..Self::default() }
    }
}

impl Codec for Gemini {
    fn provider(&self) -> Provider {
        if self.json_schema { Provider::GeminiJsonSchema } else { Provider::Gemini }
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
