//! Models at hosts that are no providers themselves: hosts of Chat Completions, Azure OpenAI and
//! Vertex AI.

use crate::http::model::HttpModel;
use crate::model_access::env_setting;
use tool_adapters_providers::ChatHost;
use tool_adapters_providers::hosted::{HostedModel, VertexPlace};

impl HttpModel {
    /// Creates a model at a host of Chat Completions. The key is that of the host's environment
    /// variable, unless you set
    /// [`api_key`](Self::api_key).
    pub fn at(host: ChatHost, model: impl Into<String>) -> Self {
        Self::hosted(HostedModel::at(host, model.into()))
    }

    fn hosted(hosted: HostedModel) -> Self {
        let mut model = Self::new(hosted.provider, hosted.model).base_url(hosted.base_url);
        model.access.key_header = hosted.key_header;
        model.access.path = hosted.path;
        model.transport.finish_body = hosted.finish_body;
        match hosted.key_env.and_then(|name| env_setting(&[name])) {
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

    /// Uses an API of a dated version, such as `2024-10-21`. Defaults to the API `v1`, which has no
    /// dates.
    pub fn api_version(mut self, version: impl Into<String>) -> Self {
        self.api_version = Some(version.into());
        self
    }

    /// Returns the model of a deployment, by Chat Completions.
    pub fn chat(&self, deployment: impl Into<String>) -> HttpModel {
        let version = self.api_version.as_deref();
        let deployment = deployment.into();
        HttpModel::hosted(HostedModel::azure_chat(&self.endpoint, version, deployment))
    }

    /// Returns the model of a deployment, by Responses.
    pub fn responses(&self, deployment: impl Into<String>) -> HttpModel {
        let version = self.api_version.as_deref();
        let deployment = deployment.into();
        HttpModel::hosted(HostedModel::azure_responses(
            &self.endpoint,
            version,
            deployment,
        ))
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

    /// Sets the URL of the server, for example of a private endpoint. Defaults to that of the
    /// location.
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = Some(url.into());
        self
    }

    /// Returns one of Google's models.
    pub fn gemini(&self, model: impl Into<String>) -> HttpModel {
        HttpModel::hosted(HostedModel::vertex_gemini(&self.place(), model.into()))
    }

    /// Returns one of Anthropic's models.
    pub fn anthropic(&self, model: impl Into<String>) -> HttpModel {
        HttpModel::hosted(HostedModel::vertex_anthropic(&self.place(), model.into()))
    }

    /// Returns a model by Chat Completions, such as `google/gemini-3-flash` or
    /// `meta/llama-4-maverick-17b-128e-instruct-maas`.
    pub fn chat(&self, model: impl Into<String>) -> HttpModel {
        HttpModel::hosted(HostedModel::vertex_chat(&self.place(), model.into()))
    }

    fn place(&self) -> VertexPlace<'_> {
        VertexPlace {
            project: &self.project,
            location: &self.location,
            server: self.base_url.as_deref(),
        }
    }
}
