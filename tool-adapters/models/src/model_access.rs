//! A model of a provider, with the access that all transports need: its base URL, its API key, the
//! provider that bills requests to that URL, and retries.

#[cfg(feature = "aws")]
use crate::http::aws::{CredentialsCache, RequestSigner, region_of_host};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tool_adapters_http::api_key::{ApiKey, KeySource, ProvidedKey};
use tool_adapters_http::base_url::{self, check_encrypted, is_secret_name};
use tool_adapters_http::biller::biller_of_url;
use tool_adapters_http::debug_only;
use tool_adapters_providers::declarations::DeclareOptions;
use tool_adapters_providers::hosted::PathOfModel;
#[cfg(feature = "aws")]
use tool_adapters_providers::hosted::SIGNED_FOR_AWS;
use tool_adapters_providers::spec::Server;
use tool_adapters_providers::{AcceptedParts, Host, Provider};
use tool_core::ToolError;
use tool_core::json::unless_too_deep;
use tool_core::session::ModelInfo;
use tool_core::time::CENTURY;
use zeroize::Zeroizing;

/// A model of a provider: an [`HttpModel`](super::http::HttpModel) or a [`LiveModel`](super::websocket::LiveModel), by its
/// transport.
#[must_use]
pub struct ProviderModel<T> {
    pub(crate) provider: Provider,
    pub(crate) model: String,
    pub(crate) access: ModelAccess,
    pub(crate) declare: DeclareOptions,
    pub(crate) extra: Map<String, Value>,
    pub(crate) retry: RetryPolicy,
    /// The parts of a user's message that the model takes, if the program knows.
    pub(crate) accepted: Option<AcceptedParts>,
    pub(crate) transport: T,
}

impl<T> ProviderModel<T> {
    pub(crate) fn over(transport: T, provider: Provider, model: String) -> Self {
        let access = ModelAccess::default();
        let declare = DeclareOptions::default();
        let retry = RetryPolicy::default();
        Self {
            provider,
            model,
            access,
            declare,
            extra: Map::new(),
            retry,
            accepted: None,
            transport,
        }
    }

    /// Sets the images, sounds, videos and documents that a message of the user may have, for a
    /// model or a server that takes less or more than the provider's documents say.
    ///
    /// A message with another part is refused before anything is sent, and the error names the
    /// part. See
    /// [`Host::accept_parts`] for the default.
    ///
    /// ```
    /// use tool_adapters::Provider;
    /// use tool_adapters::providers::AcceptedParts;
    /// use tool_adapters::transport::http::HttpModel;
    /// use tool_core::session::UserMessage;
    ///
    /// // A model that reads text only.
    /// let model = HttpModel::new(Provider::Ollama, "qwen3").accept_parts(AcceptedParts::TEXT);
    /// let message = UserMessage::new("What is this?").image("iVBORw0KGgo=", "image/png");
    /// assert!(model.check_message(&message).is_err());
    /// ```
    pub fn accept_parts(self, parts: AcceptedParts) -> Self {
        Self {
            accepted: Some(parts),
            ..self
        }
    }

    /// Returns a server of the provider with the parts that the program has set.
    pub(crate) fn with_accepted(&self, host: Host) -> Host {
        match self.accepted {
            Some(parts) => host.accept_parts(parts),
            None => host,
        }
    }

    /// Sets the API key. It is left out of `Debug`, errors and logs, and wiped from memory.
    pub fn api_key(mut self, key: impl AsRef<str>) -> Self {
        self.access.api_key = Some(KeySource::Fixed(ApiKey::new(key.as_ref())));
        self
    }

    /// Sets a callback that provides the API key, such as one that rotates or belongs to a cloud's
    /// credentials.
    ///
    /// The callback is asked for each request, and for each connection of a live model, unless its
    /// last key is still
    /// [valid](ProvidedKey::valid_for). A key that the provider refuses is not used again: the request is repeated once with
    /// another one. Requests at the same time share one call for a key that may be used again. The
    /// callback runs in a task, for at most 30 s, and the time counts for the limit of the request.
    /// A panic is an error of the request.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tool_adapters::Provider;
    /// use tool_adapters::transport::{ProvidedKey, ProviderModel};
    /// # use tool_core::ToolError;
    /// # async fn token_of_the_cloud() -> Result<String, ToolError> { Ok("t".into()) }
    ///
    /// let model = tool_adapters::transport::http::HttpModel::new(Provider::Gemini, "gemini-3-flash");
    /// let model = model.api_key_with(|| async {
    ///     let token = token_of_the_cloud().await?;
    ///     Ok(ProvidedKey::new(token).valid_for(Duration::from_secs(3000)))
    /// });
    /// ```
    pub fn api_key_with<F>(mut self, provide: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<ProvidedKey, ToolError>> + Send + 'static,
    {
        self.access.api_key = Some(KeySource::callback(provide));
        self
    }

    /// Sets a callback that provides a token, which is sent as `Authorization: Bearer`, whatever
    /// header the provider has for its keys. Use it for the tokens of a cloud, such as those of
    /// Microsoft Entra and of Google Cloud.
    ///
    /// It is called as the callback of [`api_key_with`](Self::api_key_with).
    ///
    /// ```
    /// use std::time::Duration;
    /// use tool_adapters::transport::ProvidedKey;
    /// use tool_adapters::transport::http::VertexAi;
    /// # use tool_core::ToolError;
    /// # async fn token_of_google() -> Result<String, ToolError> { Ok("t".into()) }
    ///
    /// let model = VertexAi::new("our-project", "europe-west1").gemini("gemini-3-flash").bearer_token_with(|| async {
    ///     let token = token_of_google().await?;
    ///     Ok(ProvidedKey::new(token).valid_for(Duration::from_secs(3000)))
    /// });
    /// # let _ = model;
    /// ```
    pub fn bearer_token_with<F>(self, provide: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<ProvidedKey, ToolError>> + Send + 'static,
    {
        let mut model = self.api_key_with(provide);
        model.access.key_header = Some(("authorization", "Bearer "));
        model
    }

    /// Allows requests with a key over `http` or `ws` to other machines. By default they are
    /// refused, because anyone on the way can read the key.
    pub fn allow_unencrypted(mut self) -> Self {
        self.access.allow_unencrypted = true;
        self
    }

    /// Sets the base URL, to which the paths of the API are appended. Its query is kept. Without a
    /// scheme it is `https`, or `http` for a server on this machine. A live model accepts `ws`,
    /// `wss`, `http` and `https`.
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.access.base_url = Some(url.into());
        self
    }

    /// Adds a header to every request, or to the handshake of a live model, such as a project or a
    /// beta. It replaces a header of the provider.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.access
            .headers
            .push((name.into(), Zeroizing::new(value.into())));
        self
    }

    /// Sets the options for declaring the tools.
    pub fn declare_options(self, options: DeclareOptions) -> Self {
        Self {
            declare: options,
            ..self
        }
    }

    /// Adds a setting of the provider to the top level of the request's body, such as
    /// `temperature`, or to the setup of a live session, such as Gemini's `generationConfig`. A
    /// value that nests deeper than 128 is left out.
    pub fn setting(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        let name = name.into();
        if let Some(value) = unless_too_deep(value.into()) {
            self.extra.insert(name, value);
        } else {
            tracing::error!(setting = %name.escape_debug(), "a setting nests deeper than 128; it is left out");
        }
        self
    }

    /// Sets the policy for retries, and for reconnecting a live model. A connection that has lasted
    /// for some seconds resets the number of attempts.
    pub fn retry(self, retry: RetryPolicy) -> Self {
        Self { retry, ..self }
    }
}

debug_only!(ProviderModel<T>, |this| provider: this.provider, model: this.model);

/// The access that the program has set. The environment and the provider's defaults fill in the
/// rest.
#[derive(Clone, Default)]
pub(crate) struct ModelAccess {
    pub(crate) base_url: Option<String>,
    pub(crate) api_key: Option<KeySource>,
    pub(crate) headers: Vec<(String, Zeroizing<String>)>,
    /// A key may be sent unencrypted to another machine.
    pub(crate) allow_unencrypted: bool,
    /// Returns the path after the base URL, where a host has another one than the provider.
    pub(crate) path: Option<PathOfModel>,
    /// The header of the key and the text before it, where a host has another one than the
    /// provider.
    pub(crate) key_header: Option<(&'static str, &'static str)>,
    /// The region that the program has set, or that was found with its credentials.
    pub(crate) known_region: Arc<OnceLock<String>>,
    /// The credentials with which requests are signed in place of a key.
    #[cfg(feature = "aws")]
    pub(crate) aws: Option<Arc<CredentialsCache>>,
    /// True if requests are answered from a recording, so that they need no key.
    pub(crate) is_replayed: bool,
}

impl ModelAccess {
    /// Returns the base URL. It is empty if the provider needs a region and none is set.
    pub(crate) fn base_url(&self, server: &Server) -> String {
        let default =
            || env_setting(server.base_url_env).unwrap_or_else(|| self.default_base_url(server));
        self.base_url.clone().unwrap_or_else(default)
    }

    /// Returns the default base URL. It is empty if it needs a region and none is set.
    pub(crate) fn default_base_url(&self, server: &Server) -> String {
        if server.region_env.is_empty() {
            return server.base_url.to_owned();
        }
        let of_access = self.region().map(str::to_owned);
        let region = of_access.or_else(|| env_setting(server.region_env));
        match region {
            Some(region) if is_region(&region) => server.base_url.replace("{region}", &region),
            _ => String::new(),
        }
    }

    /// Returns the region that is known beside the environment.
    pub(crate) fn region(&self) -> Option<&str> {
        self.known_region.get().map(String::as_str)
    }

    /// Returns true if requests are signed with credentials, and have no key.
    #[cfg(feature = "aws")]
    pub(crate) fn is_signed(&self) -> bool {
        self.aws.is_some() && self.api_key.is_none()
    }

    /// Returns the signer of a request, once the region and the credentials are known. `None` for requests with a key.
    #[cfg(feature = "aws")]
    pub(crate) async fn signer(&self, server: &Server) -> Result<Option<RequestSigner>, ToolError> {
        let signs = self.is_signed() && !self.is_replayed;
        let Some(credentials) = self.aws.as_ref().filter(|_| signs) else {
            return Ok(None);
        };
        // In a box, as the futures of a program would nest deeper with that of the chain.
        let signer = async {
            let region = self.signing_region(server, credentials).await?;
            if !is_region(&region) {
                let found = region.escape_debug();
                return Err(ToolError::permanent(format!(
                    "expected a region such as `eu-west-1`, found `{found}`"
                )));
            }
            let provided = credentials.get().await?;
            Ok(RequestSigner::new(
                region,
                provided,
                Arc::clone(credentials),
            ))
        };
        Box::pin(signer).await.map(Some)
    }

    /// Returns the region of the signatures. The base URL has one afterwards.
    #[cfg(feature = "aws")]
    async fn signing_region(
        &self,
        server: &Server,
        credentials: &Arc<CredentialsCache>,
    ) -> Result<String, ToolError> {
        if let Some(region) = self.region() {
            return Ok(region.to_owned());
        }
        let base_url = self.base_url(server);
        if let Some(region) = region_of_host(base_url::host_of(&base_url)) {
            return Ok(region.to_owned());
        }
        let region = match env_setting(server.region_env) {
            Some(region) => Some(region),
            None => credentials.region().await,
        };
        let Some(region) = region else {
            let names = server.region_env.join(" or ");
            return Err(ToolError::permanent(format!(
                "{SIGNED_FOR_AWS} needs a region: call `region`, or set {names} or the region of the AWS profile"
            )));
        };
        self.set_region(region.clone());
        Ok(region)
    }

    /// Sets the region, unless one is known.
    #[cfg(feature = "aws")]
    pub(crate) fn set_region(&self, region: String) {
        // Another request may have found it at the same time.
        let _ = self.known_region.set(region);
    }

    /// Returns the key. A key of the environment is not sent to a server that the program names.
    pub(crate) async fn api_key(&self, server: &Server) -> Result<Option<ApiKey>, ToolError> {
        if self.is_replayed {
            return Ok(None);
        }
        if let Some(source) = &self.api_key {
            return source.key().await.map(Some);
        }
        let key = env_setting(server.key_env)
            .map(Zeroizing::new)
            .filter(|_| self.base_url.is_none());
        Ok(key.map(|key| ApiKey::new(&key)))
    }

    /// Forgets a key that the provider has refused. Returns true if the next request has another
    /// one.
    pub(crate) fn forget_key(&self, key: Option<&ApiKey>) -> bool {
        self.api_key
            .as_ref()
            .zip(key)
            .is_some_and(|(source, key)| source.forget(key))
    }

    /// Returns the key with all other secrets of a request, to leave them out of texts.
    pub(crate) fn hidden(&self, key: Option<&ApiKey>, base: &str) -> ApiKey {
        // The value after `Bearer ` is a secret by itself.
        let headers = self
            .headers
            .iter()
            .flat_map(|(_, value)| [value.as_str(), value.rsplit(' ').next().unwrap_or_default()]);
        let in_url = base_url::secrets(base);
        let key = key.cloned().unwrap_or_else(|| ApiKey::new(""));
        key.hiding(headers)
            .hiding(in_url.iter().map(String::as_str))
    }

    /// Refuses to send a key to another machine unencrypted.
    pub(crate) fn check_encrypted(
        &self,
        scheme: &str,
        host: &str,
        base: &str,
        has_key: bool,
    ) -> Result<(), ToolError> {
        let has_secret = has_key
            || self.headers.iter().any(|(name, _)| is_secret_name(name))
            || base_url::has_key(base);
        if has_secret && !self.allow_unencrypted {
            check_encrypted(scheme, host)
        } else {
            Ok(())
        }
    }

    /// Returns the headers for the key and those of the program, all marked as sensitive.
    pub(crate) fn headers(
        &self,
        server: &Server,
        key: Option<&ApiKey>,
    ) -> Result<HeaderMap, ToolError> {
        let sensitive = |text: &str| {
            let mut value = HeaderValue::from_str(text).ok()?;
            value.set_sensitive(true);
            Some(value)
        };
        let mut headers = HeaderMap::new();
        if let Some(key) = key {
            let (name, prefix) = self.key_header.unwrap_or(server.key_header);
            let value = sensitive(&Zeroizing::new(format!("{prefix}{}", key.expose())))
                .ok_or_else(|| {
                    ToolError::auth(
                        "the API key contains characters that are not allowed in a header",
                    )
                })?;
            headers.insert(HeaderName::from_static(name), value);
        }
        for (name, value) in &self.headers {
            let header = HeaderName::try_from(name.as_str())
                .ok()
                .zip(sensitive(value));
            let (name, value) = header.ok_or_else(|| {
                ToolError::permanent(format!(
                    "invalid name or value of the header `{}`",
                    name.escape_debug()
                ))
            })?;
            headers.insert(name, value);
        }
        Ok(headers)
    }
}

/// Returns true if a text can be a part of a host's name.
fn is_region(text: &str) -> bool {
    let mut characters = text.chars();
    !text.is_empty() && characters.all(|c| c.is_ascii_alphanumeric() || c == '-')
}

/// Returns the first of these environment variables that is set and not blank.
pub(crate) fn env_setting(names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| {
        std::env::var(name)
            .ok()
            .filter(|value| !value.trim().is_empty())
    })
}

/// Returns the model's name, and the name of its biller in price tables. Servers of many providers
/// speak the same protocol, so the URL decides before the protocol does.
pub(crate) fn model_info(provider: Provider, model: &str, url: &str) -> ModelInfo {
    let biller = biller_of_url(url).or(provider.spec().names.biller);
    ModelInfo {
        model: model.to_owned().into(),
        provider: biller.map(Into::into),
    }
}

/// A policy for retries of requests that a provider did not receive or was too busy to answer.
///
/// The delay before the second attempt is a random time up to `initial`. The upper limit doubles
/// with each further attempt, up to `max`. The randomness spreads clients that failed at the same
/// time.
///
/// ```
/// use std::time::Duration;
/// use tool_adapters::agent::RetryPolicy;
///
/// let patient = RetryPolicy { attempts: 8, ..RetryPolicy::default() };
/// assert_eq!((patient.initial, patient.max), (Duration::from_millis(500), Duration::from_secs(8)));
/// assert_eq!(RetryPolicy::never().attempts, 1);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct RetryPolicy {
    /// Maximum number of attempts, including the first. Defaults to 4.
    pub attempts: u32,
    /// Maximum delay before the second attempt. Defaults to 500 ms.
    pub initial: Duration,
    /// Maximum delay before any attempt. Defaults to 8 s.
    pub max: Duration,
    /// Maximum delay that a provider may request. If it requests a longer one, there is no further
    /// attempt. Defaults to a minute.
    pub max_retry_after: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts: 4,
            initial: Duration::from_millis(500),
            max: Duration::from_secs(8),
            max_retry_after: Duration::from_secs(60),
        }
    }
}

impl RetryPolicy {
    /// Creates a policy with a single attempt.
    pub fn never() -> Self {
        Self {
            attempts: 1,
            ..Self::default()
        }
    }

    /// Returns a random delay after a number of failed attempts. Returns `None` if no attempt is
    /// left.
    pub(crate) fn delay(&self, failed: u32) -> Option<Duration> {
        // The seed of a hash map is random enough for a delay.
        let fraction =
            || f64::from((RandomState::new().hash_one(0) >> 32) as u32) / f64::from(u32::MAX);
        (failed < self.attempts).then(|| self.max_delay(failed).mul_f64(fraction()))
    }

    /// Returns the delay after a number of failed attempts if the provider has asked for one. Returns `None` if no attempt is
    /// left, or if it has asked for too long a delay.
    pub(crate) fn delay_asked(&self, failed: u32, asked: Duration) -> Option<Duration> {
        let own = self.delay(failed)?;
        if asked.is_zero() {
            // A server that asks for no delay is not asked again at once.
            return Some(own);
        }
        (asked <= self.max_retry_after).then_some(asked)
    }

    fn max_delay(&self, failed: u32) -> Duration {
        let factor = 2_u32.saturating_pow(failed.saturating_sub(1));
        self.initial
            .saturating_mul(factor)
            .min(self.max)
            .min(CENTURY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_maximum_delay_doubles_up_to_the_limit() {
        let retry = RetryPolicy {
            attempts: 9,
            ..RetryPolicy::default()
        };
        let delays = (1..=6)
            .map(|failed| retry.max_delay(failed).as_millis())
            .collect::<Vec<_>>();
        assert_eq!(delays, [500, 1_000, 2_000, 4_000, 8_000, 8_000]);
        assert_eq!(retry.max_delay(u32::MAX), retry.max);
        let endless = RetryPolicy {
            attempts: 9,
            initial: Duration::MAX,
            max: Duration::MAX,
            ..retry
        };
        assert_eq!(
            (endless.max_delay(1), endless.max_delay(8)),
            (CENTURY, CENTURY)
        );
    }

    #[test]
    fn delays_spread_over_the_whole_range() {
        let retry = RetryPolicy::default();
        let delays = (0..200).filter_map(|_| retry.delay(1)).collect::<Vec<_>>();
        assert!(
            delays.iter().all(|delay| *delay <= retry.initial),
            "{delays:?}"
        );
        let short = retry.initial / 4;
        let long = retry.initial / 2;
        assert!(
            delays.iter().any(|delay| *delay < short) && delays.iter().any(|delay| *delay > long)
        );
    }

    #[test]
    fn a_provider_asks_for_a_delay_up_to_a_limit() {
        let retry = RetryPolicy::default();
        let second = Duration::from_secs(1);
        assert_eq!(retry.delay_asked(1, second), Some(second));
        assert_eq!(retry.delay_asked(1, retry.max_retry_after + second), None);
        assert_eq!(retry.delay_asked(retry.attempts, second), None);
        let own = (0..20).filter_map(|_| retry.delay_asked(1, Duration::ZERO));
        assert!(
            own.into_iter().any(|delay| !delay.is_zero()),
            "none is its own"
        );
    }

    #[test]
    fn there_is_no_delay_after_the_last_attempt() {
        assert!(RetryPolicy::default().delay(3).is_some());
        assert_eq!(
            (
                RetryPolicy::default().delay(4),
                RetryPolicy::never().delay(1)
            ),
            (None, None)
        );
    }
}
