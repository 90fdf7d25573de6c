//! Where a provider is reached, and how it is told who asks.

use crate::providers::provider::Provider;
use crate::transport::api_key::{ApiKey, Defaults, address, setting};
use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use tool_core::ToolError;

/// What the user has said of it.
#[derive(Clone, Default)]
pub(crate) struct Place {
    pub(crate) base_url: Option<String>,
    pub(crate) api_key: Option<ApiKey>,
    pub(crate) headers: Vec<(String, String)>,
}

/// What is asked, and as whom.
pub(crate) struct Endpoint {
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) key: Option<ApiKey>,
}

/// What holds of a provider unless told otherwise.
struct Host {
    base: String,
    /// The settings of the environment that people know from the provider's own libraries.
    base_env: &'static [&'static str],
    key_env: &'static [&'static str],
    key_header: KeyHeader,
}

#[derive(Clone, Copy)]
enum KeyHeader {
    Bearer,
    Named(&'static str),
}

impl Host {
    fn new(base: &str, base_env: &'static [&'static str], key_env: &'static [&'static str]) -> Self {
        Self { base: base.to_owned(), base_env, key_env, key_header: KeyHeader::Bearer }
    }

    fn key_in(self, header: &'static str) -> Self {
        Self { key_header: KeyHeader::Named(header), ..self }
    }
}

fn host(provider: Provider) -> Result<Host, ToolError> {
    Ok(match provider {
        Provider::OpenAiChat | Provider::OpenAiResponses => {
            Host::new("https://api.openai.com/v1", &["OPENAI_BASE_URL"], &["OPENAI_API_KEY"])
        }
        Provider::Anthropic => {
            Host::new("https://api.anthropic.com", &["ANTHROPIC_BASE_URL"], &["ANTHROPIC_API_KEY"]).key_in("x-api-key")
        }
        Provider::Gemini | Provider::GeminiJsonSchema => Host::new(
            "https://generativelanguage.googleapis.com",
            &["GOOGLE_GEMINI_BASE_URL"],
            &["GOOGLE_API_KEY", "GEMINI_API_KEY"],
        )
        .key_in("x-goog-api-key"),
        Provider::Mistral => Host::new("https://api.mistral.ai", &["MISTRAL_BASE_URL"], &["MISTRAL_API_KEY"]),
        Provider::Cohere => Host::new("https://api.cohere.com", &["CO_API_URL"], &["CO_API_KEY", "COHERE_API_KEY"]),
        Provider::Ollama => Host::new("http://127.0.0.1:11434", &["OLLAMA_HOST"], &["OLLAMA_API_KEY"]),
        Provider::Bedrock => {
            Host::new(&bedrock(), &["AWS_ENDPOINT_URL_BEDROCK_RUNTIME"], &["AWS_BEARER_TOKEN_BEDROCK"])
        }
        Provider::OpenAiRealtime | Provider::GeminiLive => {
            return Err(ToolError::permanent(format!(
                "{provider} speaks over a WebSocket: use the feature `websocket`"
            )));
        }
        Provider::Mcp => {
            return Err(ToolError::permanent("mcp is a protocol for tools and not a model: use the feature `mcp`"));
        }
    })
}

/// Empty where no region is set: then a base URL has to be.
fn bedrock() -> String {
    let region = setting(&["AWS_REGION", "AWS_DEFAULT_REGION"]).unwrap_or_default();
    if region.is_empty() || !region.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
        return String::new();
    }
    format!("https://bedrock-runtime.{region}.amazonaws.com")
}

/// The path of a request, in parts that are escaped one by one.
fn path(provider: Provider, model: &str, stream: bool) -> Vec<String> {
    let parts = |fixed: &[&str]| fixed.iter().map(|part| (*part).to_owned()).collect::<Vec<_>>();
    match provider {
        Provider::OpenAiResponses => parts(&["responses"]),
        Provider::Anthropic => parts(&["v1", "messages"]),
        Provider::Mistral => parts(&["v1", "chat", "completions"]),
        Provider::Cohere => parts(&["v2", "chat"]),
        Provider::Ollama => parts(&["api", "chat"]),
        Provider::Bedrock => parts(&["model", model, "converse"]),
        Provider::Gemini | Provider::GeminiJsonSchema => {
            let method = if stream { "streamGenerateContent" } else { "generateContent" };
            // Such as `tunedModels/x`: a resource's name in full.
            let full = if model.contains('/') { model.to_owned() } else { format!("models/{model}") };
            let mut parts = vec!["v1beta".to_owned()];
            parts.extend(format!("{full}:{method}").split('/').map(str::to_owned));
            parts
        }
        _ => parts(&["chat", "completions"]),
    }
}

impl Place {
    /// The base URL that is asked; empty where there is none.
    pub(crate) fn base(&self, provider: Provider) -> String {
        let own = || host(provider).map(|host| setting(host.base_env).unwrap_or(host.base)).unwrap_or_default();
        self.base_url.clone().unwrap_or_else(own)
    }

    /// Where to ask.
    pub(crate) fn endpoint(&self, provider: Provider, model: &str, stream: bool) -> Result<Endpoint, ToolError> {
        let host = host(provider)?;
        let defaults = Defaults { base: &host.base, base_env: host.base_env, key_env: host.key_env };
        let (base, key) = address(self.base_url.as_ref(), self.api_key.as_ref(), defaults);
        let mut url = parse(provider, &base)?;
        if key.is_none() && base == host.base && self.headers.is_empty() && provider != Provider::Ollama {
            let names = host.key_env.join(" or ");
            return Err(ToolError::auth(format!("{provider} wants a key: set {names}, or give one by `api_key`")));
        }
        url.path_segments_mut()
            .map_err(|()| not_a_base(provider))?
            .pop_if_empty()
            .extend(path(provider, model, stream));
        if stream && matches!(provider, Provider::Gemini | Provider::GeminiJsonSchema) {
            url.query_pairs_mut().append_pair("alt", "sse");
        }
        Ok(Endpoint { url, headers: self.headers(provider, host.key_header, key.as_ref())?, key })
    }

    fn headers(&self, provider: Provider, header: KeyHeader, key: Option<&ApiKey>) -> Result<HeaderMap, ToolError> {
        let mut headers = HeaderMap::new();
        if provider == Provider::Anthropic {
            headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
        }
        if let Some(key) = key {
            let (name, text) = match header {
                KeyHeader::Bearer => (AUTHORIZATION, format!("Bearer {}", key.expose())),
                KeyHeader::Named(name) => (HeaderName::from_static(name), key.expose().to_owned()),
            };
            let value = secret(&text)
                .ok_or_else(|| ToolError::auth("the API key has characters that no header takes; look at it again"))?;
            headers.insert(name, value);
        }
        for (name, value) in &self.headers {
            let known = HeaderName::try_from(name.as_str()).ok().zip(secret(value));
            let (name, value) = known.ok_or_else(|| {
                ToolError::permanent(format!("`{}` is no header, or its value cannot be one", name.escape_debug()))
            })?;
            headers.insert(name, value);
        }
        Ok(headers)
    }
}

/// Nothing shows it.
fn secret(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

fn parse(provider: Provider, base: &str) -> Result<Url, ToolError> {
    if base.is_empty() {
        return Err(ToolError::permanent(format!("{provider}: set a region by AWS_REGION, or a base URL")));
    }
    // As people set OLLAMA_HOST.
    let base = if base.contains("://") { base.to_owned() } else { format!("http://{base}") };
    let url = Url::parse(base.trim()).map_err(|_| not_a_base(provider))?;
    if matches!(url.scheme(), "http" | "https") && url.has_host() { Ok(url) } else { Err(not_a_base(provider)) }
}

/// The URL itself is not told: it may hold a password.
fn not_a_base(provider: Provider) -> ToolError {
    ToolError::permanent(format!("the base URL of {provider} is no http or https address"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(provider: Provider, base: &str, model: &str, stream: bool) -> Endpoint {
        let place = Place {
            base_url: Some(base.to_owned()),
            api_key: Some(ApiKey::new("canary")),
            headers: vec![("X-Team".to_owned(), "seven".to_owned())],
        };
        place.endpoint(provider, model, stream).map_err(|error| error.to_string()).expect("an endpoint")
    }

    fn url(provider: Provider, base: &str, model: &str) -> String {
        endpoint(provider, base, model, true).url.to_string()
    }

    #[test]
    fn each_provider_has_its_path() {
        let paths = Provider::ALL.into_iter().filter_map(|provider| {
            let place = Place { base_url: Some("http://host".into()), ..Place::default() };
            let endpoint = place.endpoint(provider, "m", provider != Provider::Bedrock).ok()?;
            Some(format!("{provider} {}", &endpoint.url.as_str()["http://host".len()..]))
        });
        expect_test::expect![[r"
            openai-chat /chat/completions
            openai-responses /responses
            anthropic /v1/messages
            gemini /v1beta/models/m:streamGenerateContent?alt=sse
            gemini-json-schema /v1beta/models/m:streamGenerateContent?alt=sse
            bedrock /model/m/converse
            mistral /v1/chat/completions
            cohere /v2/chat
            ollama /api/chat"]]
        .assert_eq(&paths.collect::<Vec<_>>().join("\n"));
    }

    #[test]
    fn a_key_that_is_missing_is_told_before_anything_is_sent() {
        // Whoever runs the tests with Cohere's key in the environment has it.
        if setting(&["CO_API_KEY", "COHERE_API_KEY"]).is_some() {
            return;
        }
        let error = Place::default().endpoint(Provider::Cohere, "m", true).map(|_| ()).expect_err("no key");
        assert_eq!(error.message(), "cohere wants a key: set CO_API_KEY or COHERE_API_KEY, or give one by `api_key`");
    }

    #[test]
    fn a_base_url_keeps_its_path_and_its_query() {
        let base = "https://host:8443/team/v1/?api-version=2";
        assert_eq!(url(Provider::OpenAiChat, base, "m"), "https://host:8443/team/v1/chat/completions?api-version=2");
        assert_eq!(url(Provider::Ollama, "box:11434", "m"), "http://box:11434/api/chat");
    }

    #[test]
    fn a_models_name_cannot_leave_its_place_in_the_path() {
        let arn = "arn:aws:bedrock:eu-west-1:1:inference-profile/x?y";
        assert_eq!(
            endpoint(Provider::Bedrock, "http://host", arn, false).url.path(),
            "/model/arn:aws:bedrock:eu-west-1:1:inference-profile%2Fx%3Fy/converse"
        );
        assert_eq!(
            url(Provider::Gemini, "http://host", "tunedModels/x#y"),
            "http://host/v1beta/tunedModels/x%23y:streamGenerateContent?alt=sse"
        );
    }

    #[test]
    fn the_key_goes_where_the_provider_looks_for_it_and_is_not_shown() {
        let shown = |provider, name: &str| {
            let headers = endpoint(provider, "http://host", "m", false).headers;
            assert!(!format!("{headers:?}").contains("canary"), "{headers:?}");
            headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
        };
        assert_eq!(shown(Provider::OpenAiChat, "authorization").as_deref(), Some("Bearer canary"));
        assert_eq!(shown(Provider::Anthropic, "x-api-key").as_deref(), Some("canary"));
        assert_eq!(shown(Provider::Anthropic, "anthropic-version").as_deref(), Some("2023-06-01"));
        assert_eq!(shown(Provider::Gemini, "x-goog-api-key").as_deref(), Some("canary"));
        assert_eq!(shown(Provider::Mistral, "x-team").as_deref(), Some("seven"));
    }

    #[test]
    fn what_is_no_address_or_no_http_provider_is_told_without_the_address() {
        for base in ["ftp://user:canary@host", "http://", "data:canary", ""] {
            let place = Place { base_url: Some(base.to_owned()), ..Place::default() };
            let error = place.endpoint(Provider::OpenAiChat, "m", true).err().expect("refused").to_string();
            assert!(!error.contains("canary"), "{error}");
        }
        for provider in [Provider::OpenAiRealtime, Provider::GeminiLive, Provider::Mcp] {
            assert!(Place::default().endpoint(provider, "m", true).is_err());
        }
    }
}
