//! Access to a provider: its base URL, its API key, and the provider that bills requests to that URL.

use crate::providers::provider::Provider;
use crate::providers::spec::Server;
use crate::transport::sanitize;
use http::{HeaderMap, HeaderName, HeaderValue};
use std::fmt;
use tool_core::ToolError;
use tool_core::session::ModelInfo;
#[cfg(feature = "http")]
use tool_core::trace::Redaction;

/// An API key, which is left out of `Debug`, errors and logs.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct ApiKey(String);

impl ApiKey {
    pub(crate) fn new(key: &str) -> Self {
        Self(key.trim().to_owned())
    }

    fn redact(&self, text: &str) -> String {
        if self.0.is_empty() { text.to_owned() } else { text.replace(&self.0, "[key]") }
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[key]")
    }
}

/// The access that the program has set. The environment and the provider's defaults fill in the rest.
#[derive(Clone, Default)]
pub(crate) struct ModelAccess {
    pub(crate) base_url: Option<String>,
    pub(crate) api_key: Option<ApiKey>,
    pub(crate) headers: Vec<(String, String)>,
}

impl ModelAccess {
    /// Returns the base URL. It is empty if the provider needs a region and none is set.
    pub(crate) fn base_url(&self, server: &Server) -> String {
        let default = || env_setting(server.base_url_env).unwrap_or_else(|| default_base_url(server));
        self.base_url.clone().unwrap_or_else(default)
    }

    /// Returns the key. A key of the environment is not sent to a server that the program names.
    pub(crate) fn api_key(&self, server: &Server) -> Option<ApiKey> {
        let from_env = || env_setting(server.key_env).map(|key| ApiKey::new(&key)).filter(|_| self.base_url.is_none());
        self.api_key.clone().or_else(from_env)
    }

    /// Returns the headers for the key and those of the program, all marked as sensitive.
    pub(crate) fn headers(&self, server: &Server, key: Option<&ApiKey>) -> Result<HeaderMap, ToolError> {
        let sensitive = |text: &str| {
            let mut value = HeaderValue::from_str(text).ok()?;
            value.set_sensitive(true);
            Some(value)
        };
        let mut headers = HeaderMap::new();
        if let Some(ApiKey(key)) = key {
            let (name, prefix) = server.key_header;
            let value = sensitive(&format!("{prefix}{key}"))
                .ok_or_else(|| ToolError::auth("the API key contains characters that are not allowed in a header"))?;
            headers.insert(HeaderName::from_static(name), value);
        }
        for (name, value) in &self.headers {
            let header = HeaderName::try_from(name.as_str()).ok().zip(sensitive(value));
            let (name, value) = header.ok_or_else(|| {
                ToolError::permanent(format!("invalid name or value of the header `{}`", name.escape_debug()))
            })?;
            headers.insert(name, value);
        }
        Ok(headers)
    }
}

/// Returns the default base URL. It is empty if it needs a region and none is set.
pub(crate) fn default_base_url(server: &Server) -> String {
    if server.region_env.is_empty() {
        return server.base_url.to_owned();
    }
    match env_setting(server.region_env) {
        Some(region) if region.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') => {
            server.base_url.replace("{region}", &region)
        }
        _ => String::new(),
    }
}

/// Returns the first of these environment variables that is set and not blank.
pub(crate) fn env_setting(names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| std::env::var(name).ok().filter(|value| !value.trim().is_empty()))
}

/// Returns the beginning of a provider's text for an error, escaped and without the key.
pub(crate) fn excerpt(text: &str, key: Option<&ApiKey>) -> String {
    match key {
        Some(key) => sanitize::excerpt(&key.redact(text)),
        None => sanitize::excerpt(text),
    }
}

/// Returns an excerpt for a log, also without other texts that look like a secret.
#[cfg(feature = "http")]
pub(crate) fn log_excerpt(text: &str, key: Option<&ApiKey>) -> String {
    let text = key.map_or_else(|| text.to_owned(), |key| key.redact(text));
    sanitize::excerpt(&Redaction::new().text(&text))
}

/// A function that returns the provider that bills requests to a URL. The builtin price table registers one; the transports
/// cannot import it, as telemetry is a layer above them.
pub(crate) struct BillerLookup(pub(crate) fn(url: &str) -> Option<&'static str>);

inventory::collect!(BillerLookup);

/// Returns the model's name, and the name of its biller in price tables. Servers of many providers speak the same protocol,
/// so the URL decides before the protocol does.
pub(crate) fn model_info(provider: Provider, model: &str, url: &str) -> ModelInfo {
    let by_url = inventory::iter::<BillerLookup>().find_map(|lookup| (lookup.0)(url));
    let biller = by_url.or(provider.spec().biller);
    ModelInfo { model: model.to_owned().into(), provider: biller.map(Into::into) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hides_the_key_in_debug_forms_and_excerpts() {
        let key = ApiKey::new(" sk-canary\n");
        assert_eq!((&*key.0, format!("{key:?}")), ("sk-canary", "[key]".to_owned()));
        assert_eq!(excerpt("no such key: sk-canary!", Some(&key)), "no such key: [key]!");
    }

    #[test]
    fn excerpts_are_cut_and_escaped() {
        assert_eq!(excerpt("a\u{1b}[31mb\n", None), "a\\u{1b}[31mb");
        assert_eq!(excerpt(&"é".repeat(600), None).chars().count(), 501);
    }
}
