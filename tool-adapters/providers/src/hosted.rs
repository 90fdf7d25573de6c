//! Models at hosts that are no providers themselves: hosts of Chat Completions, Azure OpenAI and
//! Vertex AI.

use crate::Provider;
use crate::openai_chat::chat_hosts::ChatHost;
use crate::spec::segments;
use serde_json::Value;
use std::fmt::Write as _;

/// The provider whose requests are signed with AWS credentials, where the program has no key.
pub const SIGNED_FOR_AWS: Provider = Provider::Bedrock;

/// Returns the path of a model's API, with or without streaming.
pub type PathOfModel = fn(model: &str, stream: bool) -> Vec<String>;

/// A model at a host that differs from the provider's own server in its URL, its path, its key or
/// its requests.
#[derive(Clone, Debug)]
pub struct HostedModel {
    /// The interface that the host has.
    pub provider: Provider,
    /// The name of the model.
    pub model: String,
    /// The base URL.
    pub base_url: String,
    /// The environment variable of the key, if the host has one of its own.
    pub key_env: Option<&'static str>,
    /// The header of the key and the text before it; `None` for the provider's.
    pub key_header: Option<(&'static str, &'static str)>,
    /// The path after the base URL; `None` for the provider's.
    pub path: Option<PathOfModel>,
    /// Changes the body of a request for the host.
    pub finish_body: Option<fn(&mut Value)>,
}

impl HostedModel {
    fn new(provider: Provider, model: String, base_url: String) -> Self {
        Self {
            provider,
            model,
            base_url,
            key_env: None,
            key_header: None,
            path: None,
            finish_body: None,
        }
    }

    /// Returns a model at a host of Chat Completions.
    pub fn at(host: ChatHost, model: String) -> Self {
        Self {
            key_env: Some(host.key_env()),
            ..Self::new(Provider::OpenAiChat, model, host.base_url().to_owned())
        }
    }

    /// Returns the deployment of a resource at Azure, by Chat Completions. An API of a dated
    /// version names it in the path.
    pub fn azure_chat(endpoint: &str, api_version: Option<&str>, deployment: String) -> Self {
        let dated: PathOfModel =
            |deployment, _| segments(&["openai", "deployments", deployment, "chat", "completions"]);
        Self::azure(
            Provider::OpenAiChat,
            endpoint,
            api_version,
            deployment,
            dated,
        )
    }

    /// Returns the deployment of a resource at Azure, by Responses.
    pub fn azure_responses(endpoint: &str, api_version: Option<&str>, deployment: String) -> Self {
        let dated: PathOfModel = |_, _| segments(&["openai", "responses"]);
        Self::azure(
            Provider::OpenAiResponses,
            endpoint,
            api_version,
            deployment,
            dated,
        )
    }

    fn azure(
        provider: Provider,
        endpoint: &str,
        api_version: Option<&str>,
        deployment: String,
        dated: PathOfModel,
    ) -> Self {
        let endpoint = endpoint.trim().trim_end_matches('/');
        let base_url = match api_version {
            None => format!("{endpoint}/openai/v1"),
            Some(version) => format!("{endpoint}?api-version={}", percent_encode(version)),
        };
        Self {
            key_header: Some(("api-key", "")),
            path: api_version.map(|_| dated),
            ..Self::new(provider, deployment, base_url)
        }
    }

    /// Returns one of Google's models at Vertex AI.
    pub fn vertex_gemini(place: &VertexPlace<'_>, model: String) -> Self {
        let path: PathOfModel = |model, stream| {
            let method = if stream {
                "streamGenerateContent"
            } else {
                "generateContent"
            };
            segments(&["models", &format!("{model}:{method}")])
        };
        Self::vertex(
            Provider::Gemini,
            model,
            place.url("publishers/google"),
            path,
        )
    }

    /// Returns one of Anthropic's models at Vertex AI. The path names the model, and the body names
    /// the version of the API.
    pub fn vertex_anthropic(place: &VertexPlace<'_>, model: String) -> Self {
        let path: PathOfModel = |model, stream| {
            let method = if stream {
                "streamRawPredict"
            } else {
                "rawPredict"
            };
            segments(&["models", &format!("{model}:{method}")])
        };
        let base_url = place.url("publishers/anthropic");
        Self {
            finish_body: Some(|body| {
                if let Some(members) = body.as_object_mut() {
                    members.remove("model");
                    members
                        .entry("anthropic_version")
                        .or_insert_with(|| "vertex-2023-10-16".into());
                }
            }),
            ..Self::vertex(Provider::Anthropic, model, base_url, path)
        }
    }

    /// Returns a model at Vertex AI, by Chat Completions.
    pub fn vertex_chat(place: &VertexPlace<'_>, model: String) -> Self {
        let path: PathOfModel = |_, _| segments(&["chat", "completions"]);
        Self::vertex(
            Provider::OpenAiChat,
            model,
            place.url("endpoints/openapi"),
            path,
        )
    }

    fn vertex(provider: Provider, model: String, base_url: String, path: PathOfModel) -> Self {
        Self {
            key_header: Some(("authorization", "Bearer ")),
            path: Some(path),
            ..Self::new(provider, model, base_url)
        }
    }
}

/// A project and a location at Vertex AI.
#[derive(Clone, Copy, Debug)]
pub struct VertexPlace<'a> {
    /// The project.
    pub project: &'a str,
    /// The location, for example `europe-west1` or `global`.
    pub location: &'a str,
    /// The URL of the server; `None` for that of the location.
    pub server: Option<&'a str>,
}

impl VertexPlace<'_> {
    fn url(&self, of: &str) -> String {
        let project = percent_encode(self.project);
        let location = percent_encode(self.location);
        let server = match (self.server, &*location) {
            (Some(url), _) => url.trim().trim_end_matches('/').to_owned(),
            (None, "global") => "https://aiplatform.googleapis.com".to_owned(),
            (None, location) => format!("https://{location}-aiplatform.googleapis.com"),
        };
        format!("{server}/v1/projects/{project}/locations/{location}/{of}")
    }
}

/// Escapes a text for a segment of a path or the value of a query.
#[doc(hidden)]
pub fn percent_encode(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            // Writing to a `String` does not fail.
            let _ = write!(escaped, "%{byte:02X}");
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vertex_is_at_its_location() {
        let url = |location| {
            let place = VertexPlace {
                project: "our-project",
                location,
                server: None,
            };
            HostedModel::vertex_gemini(&place, "m".to_owned()).base_url
        };
        assert_eq!(
            url("europe-west1"),
            "https://europe-west1-aiplatform.googleapis.com/v1/projects/our-project/locations/europe-west1/publishers/google"
        );
        assert!(url("global").starts_with("https://aiplatform.googleapis.com/v1/"));
        assert!(url("evil.example/").contains("/locations/evil.example%2F/"));
    }
}
