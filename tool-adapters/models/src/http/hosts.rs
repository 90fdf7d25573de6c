//! Models at hosts that are no providers themselves: hosts of Chat Completions, Azure OpenAI and Vertex AI.

use crate::http::model::HttpModel;
use crate::model_access::{PathOfModel, env_setting};
use serde_json::Value;
use std::fmt::Write as _;
use tool_adapters_providers::spec::segments;
use tool_adapters_providers::{ChatHost, Provider};

impl HttpModel {
    /// Creates a model at a host of Chat Completions. The key is that of the host's environment variable, unless you set
    /// [`api_key`](Self::api_key).
    pub fn at(host: ChatHost, model: impl Into<String>) -> Self {
        let model = Self::new(Provider::OpenAiChat, model).base_url(host.base_url());
        match env_setting(&[host.key_env()]) {
            Some(key) => model.api_key(key),
            None => model,
        }
    }
}

/// OpenAI's models at Azure, by the URL of your resource and the names of your deployments.
///
/// A key is sent as `api-key`. For Microsoft Entra, use [`bearer_token_with`](HttpModel::bearer_token_with), whose callback gets
/// a token for `https://cognitiveservices.azure.com/.default`.
///
/// ```
/// use tool_adapters::transport::http::AzureOpenAi;
///
/// let azure = AzureOpenAi::new("https://our-team.openai.azure.com");
/// let model = azure.responses("our-gpt-5").api_key("0123");
///
/// // An API of a dated version, which names the deployment in its path.
/// let older = AzureOpenAi::new("https://our-team.openai.azure.com").api_version("2024-10-21");
/// let model = older.chat("our-gpt-4o").api_key("0123");
/// # let _ = model;
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct AzureOpenAi {
    endpoint: String,
    api_version: Option<String>,
}

impl AzureOpenAi {
    /// Names the resource by its URL.
    pub fn new(endpoint: impl Into<String>) -> Self {
        Self {
            endpoint: endpoint.into(),
            api_version: None,
        }
    }

    /// Uses an API of a dated version, such as `2024-10-21`. Defaults to the API `v1`, which has no dates.
    pub fn api_version(mut self, version: impl Into<String>) -> Self {
        self.api_version = Some(version.into());
        self
    }

    /// Returns the model of a deployment, by Chat Completions.
    pub fn chat(&self, deployment: impl Into<String>) -> HttpModel {
        self.model(Provider::OpenAiChat, deployment.into(), |deployment, _| {
            segments(&["openai", "deployments", deployment, "chat", "completions"])
        })
    }

    /// Returns the model of a deployment, by Responses.
    pub fn responses(&self, deployment: impl Into<String>) -> HttpModel {
        self.model(Provider::OpenAiResponses, deployment.into(), |_, _| {
            segments(&["openai", "responses"])
        })
    }

    /// Returns a model, whose API of a dated version is at a path.
    fn model(&self, provider: Provider, deployment: String, dated: PathOfModel) -> HttpModel {
        let endpoint = self.endpoint.trim().trim_end_matches('/');
        let mut model = HttpModel::new(provider, deployment);
        model.access.key_header = Some(("api-key", ""));
        let Some(version) = &self.api_version else {
            return model.base_url(format!("{endpoint}/openai/v1"));
        };
        model.access.path = Some(dated);
        let version = percent_encode(version);
        model.base_url(format!("{endpoint}?api-version={version}"))
    }
}

/// Models at Google Cloud's Vertex AI, by your project and a location.
///
/// The models take the tokens of Google Cloud, which expire: see [`bearer_token_with`](HttpModel::bearer_token_with).
///
/// ```
/// use tool_adapters::transport::ProvidedKey;
/// use tool_adapters::transport::http::VertexAi;
/// # use tool_core::ToolError;
/// # async fn token_of_google() -> Result<String, ToolError> { Ok("t".into()) }
///
/// let vertex = VertexAi::new("our-project", "europe-west1");
/// let model = vertex.gemini("gemini-3-flash").bearer_token_with(|| async { Ok(ProvidedKey::new(token_of_google().await?)) });
/// let claude = vertex.anthropic("claude-sonnet-5");
/// # let _ = (model, claude);
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct VertexAi {
    project: String,
    location: String,
    base_url: Option<String>,
}

impl VertexAi {
    /// Names the project and the location, such as `europe-west1` or `global`.
    pub fn new(project: impl Into<String>, location: impl Into<String>) -> Self {
        Self {
            project: project.into(),
            location: location.into(),
            base_url: None,
        }
    }

    /// Sets the URL of the server, for example of a private endpoint. Defaults to that of the location.
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = Some(url.into());
        self
    }

    /// Returns one of Google's models.
    pub fn gemini(&self, model: impl Into<String>) -> HttpModel {
        self.model(
            Provider::Gemini,
            model.into(),
            "publishers/google",
            gemini_path,
        )
    }

    /// Returns one of Anthropic's models.
    pub fn anthropic(&self, model: impl Into<String>) -> HttpModel {
        let publisher = "publishers/anthropic";
        let mut model = self.model(Provider::Anthropic, model.into(), publisher, anthropic_path);
        model.transport.finish_body = Some(name_in_path);
        model
    }

    /// Returns a model by Chat Completions, such as `google/gemini-3-flash` or `meta/llama-4-maverick-17b-128e-instruct-maas`.
    pub fn chat(&self, model: impl Into<String>) -> HttpModel {
        let path: PathOfModel = |_, _| segments(&["chat", "completions"]);
        self.model(
            Provider::OpenAiChat,
            model.into(),
            "endpoints/openapi",
            path,
        )
    }

    fn model(&self, provider: Provider, model: String, of: &str, path: PathOfModel) -> HttpModel {
        let project = percent_encode(&self.project);
        let location = percent_encode(&self.location);
        let server = match (&self.base_url, &*location) {
            (Some(url), _) => url.trim().trim_end_matches('/').to_owned(),
            (None, "global") => "https://aiplatform.googleapis.com".to_owned(),
            (None, location) => format!("https://{location}-aiplatform.googleapis.com"),
        };
        let base_url = format!("{server}/v1/projects/{project}/locations/{location}/{of}");
        let mut model = HttpModel::new(provider, model).base_url(base_url);
        model.access.path = Some(path);
        model.access.key_header = Some(("authorization", "Bearer "));
        model
    }
}

fn gemini_path(model: &str, stream: bool) -> Vec<String> {
    let method = if stream {
        "streamGenerateContent"
    } else {
        "generateContent"
    };
    segments(&["models", &format!("{model}:{method}")])
}

fn anthropic_path(model: &str, stream: bool) -> Vec<String> {
    let method = if stream {
        "streamRawPredict"
    } else {
        "rawPredict"
    };
    segments(&["models", &format!("{model}:{method}")])
}

/// The path names the model, and the body names the version of the API.
fn name_in_path(body: &mut Value) {
    if let Some(members) = body.as_object_mut() {
        members.remove("model");
        members
            .entry("anthropic_version")
            .or_insert_with(|| "vertex-2023-10-16".into());
    }
}

/// Escapes a text for a segment of a path or the value of a query.
fn percent_encode(text: &str) -> String {
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
