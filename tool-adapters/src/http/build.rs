//! Setting a model up.

use super::endpoint::Place;
use super::{HttpModel, Settings, Timeouts};
use crate::agent::{ApiKey, Retry};
use crate::protocol::Event;
use crate::{DeclareOptions, Provider};
use serde_json::{Map, Value};
use std::sync::OnceLock;

/// What an [`HttpModel`]'s own client is made with: no redirect is followed, as keys would go along.
///
/// For a client that several models share, or that has a proxy or certificates of its own.
///
/// ```
/// use tool_adapters::Provider;
/// use tool_adapters::http::{HttpModel, client_builder};
///
/// let client = client_builder().user_agent("front-desk/1.0").build()?;
/// let model = HttpModel::new(Provider::Gemini, "gemini-3-flash").client(client);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn client_builder() -> reqwest::ClientBuilder {
    let timeouts = Timeouts::default();
    reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).connect_timeout(timeouts.connect)
}

impl HttpModel {
    /// A model at a provider, by the name that it has there.
    pub fn new(provider: Provider, model: impl Into<String>) -> Self {
        Self {
            provider,
            model: model.into(),
            place: Place::default(),
            settings: Settings {
                declare: DeclareOptions::default(),
                max_tokens: None,
                extra: Map::new(),
                stream: true,
                retry: Retry::default(),
                timeouts: Timeouts::default(),
                max_bytes: 64 * 1024 * 1024,
            },
            client: None,
            protocol: None,
            declared: None,
            about: OnceLock::new(),
            listener: None,
        }
    }

    /// The key. Nothing shows it.
    #[must_use]
    pub fn api_key(mut self, key: impl AsRef<str>) -> Self {
        self.place.api_key = Some(ApiKey::new(key.as_ref()));
        self
    }

    /// Another address than the provider's own, up to where its paths begin. A query that it has stays.
    #[must_use]
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.place.base_url = Some(url.into());
        // Another place is somebody else's.
        self.about = OnceLock::new();
        self
    }

    /// A header for every request, such as a project's or a beta's; instead of ours, where it is one of those.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.place.headers.push((name.into(), value.into()));
        self
    }

    /// How the tools are declared.
    #[must_use]
    pub fn declare_options(mut self, options: DeclareOptions) -> Self {
        (self.settings.declare, self.declared) = (options, None);
        self
    }

    /// The tokens that an answer may have.
    #[must_use]
    pub fn max_tokens(mut self, tokens: u32) -> Self {
        self.settings.max_tokens = Some(tokens);
        self
    }

    /// A setting in the provider's own words, at the top of the request's body, such as `temperature`.
    #[must_use]
    pub fn setting(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.settings.extra.insert(name.into(), value.into());
        self
    }

    /// Whether answers come in pieces. They do unless told; Bedrock's never do.
    #[must_use]
    pub fn stream(mut self, stream: bool) -> Self {
        self.settings.stream = stream;
        self
    }

    /// How often it is asked again.
    #[must_use]
    pub fn retry(mut self, retry: Retry) -> Self {
        self.settings.retry = retry;
        self
    }

    /// How long it may take. The time to connect does not hold for a [`client`](Self::client) of your own.
    #[must_use]
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.settings.timeouts = timeouts;
        self
    }

    /// The bytes that an answer may have: 64 MiB unless told.
    #[must_use]
    pub fn max_bytes(mut self, bytes: usize) -> Self {
        self.settings.max_bytes = bytes;
        self
    }

    /// The client to ask with. Best one of [`client_builder`]: one that follows redirects takes the key along.
    #[must_use]
    pub fn client(mut self, client: reqwest::Client) -> Self {
        self.client = Some(client);
        self
    }

    /// Shows the pieces of answers as they come: on the task of the reply, so it has to be quick. Calls are shown under
    /// the tools' own names; they run when the answer is whole.
    #[must_use]
    pub fn on_event(mut self, listener: impl FnMut(&Event) + Send + 'static) -> Self {
        self.listener = Some(Box::new(listener));
        self
    }
}
