//! Where a provider is reached, and how it is told who asks.

use crate::providers::provider::Provider;
use crate::providers::spec::{Endpoint, HttpEndpoint, Server};
use crate::transport::api_key::{ApiKey, Defaults, address, setting};
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use tool_core::ToolError;

/// What the user has said of it.
#[derive(Clone, Default)]
pub(crate) struct Place {
    pub(crate) base_url: Option<String>,
    pub(crate) api_key: Option<ApiKey>,
    pub(crate) headers: Vec<(String, String)>,
}

/// What is asked, and as whom.
pub(crate) struct Target {
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) key: Option<ApiKey>,
}

fn http(provider: Provider) -> Result<HttpEndpoint, ToolError> {
    match provider.spec().endpoint {
        Endpoint::Http(http) => Ok(http),
        Endpoint::WebSocket(_) => {
            Err(ToolError::permanent(format!("{provider} speaks over a WebSocket: use the feature `websocket`")))
        }
        Endpoint::ToolServer => Err(ToolError::permanent(format!(
            "{provider} is a protocol for tools and not a model: use the feature `{provider}`"
        ))),
    }
}

/// The default base URL; empty where it needs a region and none is set.
fn base_url(server: &Server) -> String {
    if server.region_env.is_empty() {
        return server.base_url.to_owned();
    }
    let region = setting(server.region_env).unwrap_or_default();
    if region.is_empty() || !region.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
        return String::new();
    }
    server.base_url.replace("{region}", &region)
}

impl Place {
    /// The base URL that is asked; empty where there is none.
    pub(crate) fn base(&self, provider: Provider) -> String {
        let own = |http: HttpEndpoint| setting(http.server.base_url_env).unwrap_or_else(|| base_url(&http.server));
        self.base_url.clone().unwrap_or_else(|| http(provider).map(own).unwrap_or_default())
    }

    /// Where to ask.
    pub(crate) fn endpoint(&self, provider: Provider, model: &str, stream: bool) -> Result<Target, ToolError> {
        let http = http(provider)?;
        let own = base_url(&http.server);
        let defaults = Defaults { base: &own, base_env: http.server.base_url_env, key_env: http.server.key_env };
        let (base, key) = address(self.base_url.as_ref(), self.api_key.as_ref(), defaults);
        let mut url = parse(provider, &base)?;
        if key.is_none() && base == own && self.headers.is_empty() && http.server.key_required {
            let names = http.server.key_env.join(" or ");
            return Err(ToolError::auth(format!("{provider} wants a key: set {names}, or give one by `api_key`")));
        }
        url.path_segments_mut().map_err(|()| not_a_base(provider))?.pop_if_empty().extend((http.path)(model, stream));
        if let Some((name, value)) = http.stream_query.filter(|_| stream) {
            url.query_pairs_mut().append_pair(name, value);
        }
        Ok(Target { url, headers: self.headers(&http, key.as_ref())?, key })
    }

    fn headers(&self, http: &HttpEndpoint, key: Option<&ApiKey>) -> Result<HeaderMap, ToolError> {
        let mut headers = HeaderMap::new();
        for (name, value) in http.headers {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        if let Some(key) = key {
            let (name, before) = http.server.key_header;
            let value = secret(&format!("{before}{}", key.expose()))
                .ok_or_else(|| ToolError::auth("the API key has characters that no header takes; look at it again"))?;
            headers.insert(HeaderName::from_static(name), value);
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

    fn endpoint(provider: Provider, base: &str, model: &str, stream: bool) -> Target {
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
