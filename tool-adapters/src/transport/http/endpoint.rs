//! The URL and the headers of a provider's requests.

use crate::providers::provider::Provider;
use crate::providers::spec::{self, HttpEndpoint};
use crate::transport::model_access::{ApiKey, ModelAccess, default_base_url};
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use tool_core::ToolError;

pub(crate) struct Endpoint {
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) key: Option<ApiKey>,
}

/// Returns the HTTP API of a provider.
pub(crate) fn http_api(provider: Provider) -> Result<HttpEndpoint, ToolError> {
    match provider.spec().endpoint {
        spec::Endpoint::Http(http) => Ok(http),
        spec::Endpoint::WebSocket(_) => {
            Err(ToolError::permanent(format!("{provider} needs a WebSocket: use the feature `websocket`")))
        }
        spec::Endpoint::ToolServer => Err(ToolError::permanent(format!(
            "{provider} is a protocol for tools, not a model: use the feature `{provider}`"
        ))),
    }
}

impl Endpoint {
    pub(crate) fn new(provider: Provider, access: &ModelAccess, model: &str, stream: bool) -> Result<Self, ToolError> {
        let http = http_api(provider)?;
        let server = &http.server;
        let (base, key) = (access.base_url(server), access.api_key(server));
        if base.is_empty() && !server.region_env.is_empty() {
            let names = server.region_env.join(" or ");
            return Err(ToolError::permanent(format!("{provider} needs a region: set {names}, or call `base_url`")));
        }
        let mut url = parse_base_url(provider, &base)?;
        let is_default = base == default_base_url(server);
        if key.is_none() && is_default && access.headers.is_empty() && server.key_required {
            let names = server.key_env.join(" or ");
            return Err(ToolError::auth(format!("{provider} needs an API key: set {names}, or call `api_key`")));
        }
        let mut path = url.path_segments_mut().map_err(|()| invalid_base_url(provider))?;
        path.pop_if_empty().extend((http.path)(model, stream));
        drop(path);
        if let Some((name, value)) = http.stream_query.filter(|_| stream) {
            url.query_pairs_mut().append_pair(name, value);
        }
        let mut headers = HeaderMap::new();
        for (name, value) in http.headers {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        // Headers of the program replace those of the provider.
        headers.extend(access.headers(server, key.as_ref())?);
        Ok(Self { url, headers, key })
    }
}

fn parse_base_url(provider: Provider, base: &str) -> Result<Url, ToolError> {
    // `OLLAMA_HOST` is usually set without a scheme.
    let base = if base.contains("://") { base.to_owned() } else { format!("http://{base}") };
    let url = Url::parse(base.trim()).map_err(|_| invalid_base_url(provider))?;
    if matches!(url.scheme(), "http" | "https") && url.has_host() { Ok(url) } else { Err(invalid_base_url(provider)) }
}

/// Returns an error that does not repeat the URL, which may hold a password.
fn invalid_base_url(provider: Provider) -> ToolError {
    ToolError::permanent(format!("expected the base URL of {provider} to be an http or https URL"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::model_access::env_setting;

    fn endpoint(provider: Provider, base: &str, model: &str, stream: bool) -> Endpoint {
        let access = ModelAccess {
            base_url: Some(base.to_owned()),
            api_key: Some(ApiKey::new("canary")),
            headers: vec![("X-Team".to_owned(), "seven".to_owned())],
        };
        Endpoint::new(provider, &access, model, stream).map_err(|error| error.to_string()).expect("an endpoint")
    }

    fn url(provider: Provider, base: &str, model: &str) -> String {
        endpoint(provider, base, model, true).url.to_string()
    }

    #[test]
    fn each_provider_has_its_path() {
        let paths = Provider::ALL.into_iter().filter_map(|provider| {
            let access = ModelAccess { base_url: Some("http://host".into()), ..ModelAccess::default() };
            let streams = http_api(provider).ok()?.streams;
            let endpoint = Endpoint::new(provider, &access, "m", streams).ok()?;
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
    fn reports_a_missing_key_before_the_request() {
        // Skipped where the environment has a key.
        if env_setting(&["CO_API_KEY", "COHERE_API_KEY"]).is_some() {
            return;
        }
        let error = Endpoint::new(Provider::Cohere, &ModelAccess::default(), "m", true).err().expect("no key");
        assert_eq!(error.message(), "cohere needs an API key: set CO_API_KEY or COHERE_API_KEY, or call `api_key`");
    }

    #[test]
    fn keeps_the_path_and_the_query_of_the_base_url() {
        let base = "https://host:8443/team/v1/?api-version=2";
        assert_eq!(url(Provider::OpenAiChat, base, "m"), "https://host:8443/team/v1/chat/completions?api-version=2");
        assert_eq!(url(Provider::Ollama, "box:11434", "m"), "http://box:11434/api/chat");
    }

    #[test]
    fn escapes_the_model_in_the_path() {
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
    fn sends_the_key_in_the_providers_header_and_hides_it() {
        let header = |provider, name: &str| {
            let headers = endpoint(provider, "http://host", "m", false).headers;
            assert!(!format!("{headers:?}").contains("canary"), "{headers:?}");
            headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
        };
        assert_eq!(header(Provider::OpenAiChat, "authorization").as_deref(), Some("Bearer canary"));
        assert_eq!(header(Provider::Anthropic, "x-api-key").as_deref(), Some("canary"));
        assert_eq!(header(Provider::Anthropic, "anthropic-version").as_deref(), Some("2023-06-01"));
        assert_eq!(header(Provider::Gemini, "x-goog-api-key").as_deref(), Some("canary"));
        assert_eq!(header(Provider::Mistral, "x-team").as_deref(), Some("seven"));
    }

    #[test]
    fn refuses_invalid_base_urls_without_repeating_them() {
        for base in ["ftp://user:canary@host", "http://", "data:canary", ""] {
            let access = ModelAccess { base_url: Some(base.to_owned()), ..ModelAccess::default() };
            let error = Endpoint::new(Provider::OpenAiChat, &access, "m", true).err().expect("refused").to_string();
            assert!(!error.contains("canary"), "{error}");
        }
        for provider in [Provider::OpenAiRealtime, Provider::GeminiLive, Provider::Mcp] {
            assert!(Endpoint::new(provider, &ModelAccess::default(), "m", true).is_err());
        }
    }
}
