//! Token usage of models from their responses, read as the bytes pass.
//!
//! ```
//! use tool_adapters::telemetry::observer::Observer;
//!
//! let mut observer = Observer::for_url("POST", "https://api.openai.com/v1/chat/completions").expect("a model's URL");
//! // A proxy pushes the bytes that it forwards, in pieces of any size.
//! observer.push(br#"{"id": "chatcmpl-1", "model": "gpt-5-mini", "choices": [{"index": 0, "message": {"content": "#);
//! observer.push(br#""Hi"}}], "usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}}"#);
//! let used = observer.finish().expect("a usage");
//! assert_eq!((&*used.model, used.usage.input, used.usage.output), ("gpt-5-mini", 9, 2));
//! assert_eq!(used.response_id.as_deref(), Some("chatcmpl-1"));
//! ```
//!
//! [`trace::observe`](tool_core::trace::observe) counts the result.

use crate::providers::event::Event;
use crate::providers::protocol::{Protocol, protocol};
use crate::providers::provider::Provider;
use crate::providers::spec::UrlPath;
use crate::telemetry::prices;
use serde::Deserialize;
use std::borrow::Cow;
use tool_core::trace::{ModelUsage, TokenUsage};

/// Tool calls beyond this number are not recorded.
pub(crate) const MAX_CALLS: usize = 256;

/// Reads the model, the usage and the calls of a response. Bytes that it does not understand are skipped.
///
/// It buffers unread bytes (an event of a stream, or a whole answer up to 16 MiB) and the arguments of open calls.
#[must_use]
pub struct Observer {
    protocol: Box<dyn Protocol>,
    billed_by: Option<Cow<'static, str>>,
    requested_model: Option<String>,
    summary: ResponseSummary,
}

#[derive(Default)]
struct ResponseSummary {
    response_id: Option<String>,
    model: Option<String>,
    usage: Option<TokenUsage>,
    calls: Vec<(String, String)>,
}

/// Reads a whole response. Returns `None` if it has no usage, such as an error.
pub fn observe_response(provider: Provider, response: &[u8]) -> Option<ModelUsage> {
    let mut observer = Observer::new(provider);
    observer.push(response);
    observer.finish()
}

impl Observer {
    /// Creates an observer for a response of a provider.
    pub fn new(provider: Provider) -> Self {
        Self {
            protocol: protocol(provider),
            billed_by: provider.spec().biller.map(Cow::Borrowed),
            requested_model: None,
            summary: ResponseSummary::default(),
        }
    }

    /// Creates an observer for the response to a request. Returns `None` if the request does not go to a model.
    ///
    /// The path decides the protocol, and the host decides the provider among those that use OpenAI's protocol.
    pub fn for_url(method: &str, url: &str) -> Option<Self> {
        let ModelRequest { provider, model, billed_by } = recognize(method, url)?;
        Some(Self { billed_by, requested_model: model, ..Self::new(provider) })
    }

    /// Reads the model from the body of the request, for responses that do not name it.
    pub fn request(&mut self, body: &[u8]) {
        #[derive(Deserialize)]
        struct RequestBody {
            model: String,
        }
        if let Ok(RequestBody { model }) = serde_json::from_slice(body) {
            self.requested_model = Some(model);
        }
    }

    /// Sets the provider that bills the request, by its name in price tables. With `None`, the model's name decides.
    pub fn billed_by(mut self, provider: Option<impl Into<Cow<'static, str>>>) -> Self {
        self.billed_by = provider.map(Into::into);
        self
    }

    /// Returns the provider whose protocol is read.
    pub fn provider(&self) -> Provider {
        self.protocol.provider()
    }

    /// Reads the next bytes of the response.
    pub fn push(&mut self, bytes: &[u8]) {
        self.summary.read(self.protocol.push(bytes));
    }

    /// Returns the usage at the end of the response, even if it broke off.
    pub fn finish(mut self) -> Option<ModelUsage> {
        self.summary.read(self.protocol.finish());
        let ResponseSummary { response_id, model, usage, calls } = self.summary;
        if usage.is_none() && response_id.is_none() && calls.is_empty() {
            return None;
        }
        let model = model.or(self.requested_model).unwrap_or_default();
        let mut used = ModelUsage::new(model, usage.unwrap_or_default());
        used.provider = self.billed_by;
        used.response_id = response_id;
        used.tool_calls = calls;
        Some(used)
    }
}

impl ResponseSummary {
    fn read(&mut self, events: Vec<Event>) {
        for event in events {
            match event {
                Event::Response { id, model } => {
                    self.response_id = id.or(self.response_id.take());
                    self.model = model.or(self.model.take());
                }
                Event::Usage(usage) => self.usage = Some(usage),
                Event::CallStarted { id, name } if self.calls.len() < MAX_CALLS => self.calls.push((id, name)),
                _ => {}
            }
        }
    }
}

impl std::fmt::Debug for Observer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Observer").field("provider", &self.provider()).finish_non_exhaustive()
    }
}

/// A request to a model.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ModelRequest {
    pub(crate) provider: Provider,
    /// The model, if the path names it.
    pub(crate) model: Option<String>,
    pub(crate) billed_by: Option<Cow<'static, str>>,
}

/// Recognizes a request to a model by its method and URL.
pub(crate) fn recognize(method: &str, url: &str) -> Option<ModelRequest> {
    if !method.eq_ignore_ascii_case("POST") {
        return None;
    }
    let (host, path) = host_and_path(url)?;
    let (provider, model) = provider_and_model(&host, path)?;
    let by_host = prices::biller(&format!("https://{host}{path}"));
    let billed_by = by_host.or(provider.spec().biller).map(Cow::Borrowed);
    Some(ModelRequest { provider, model, billed_by })
}

fn host_and_path(url: &str) -> Option<(String, &str)> {
    let (_, rest) = url.split_once("://")?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at(end);
    let with_port = authority.rsplit('@').next()?;
    // An IPv6 address in brackets has colons too.
    let host = with_port.rsplit_once(':').filter(|(_, port)| !port.ends_with(']')).map_or(with_port, |(host, _)| host);
    let path = rest.split(['?', '#']).next().unwrap_or_default();
    Some((host.to_ascii_lowercase(), path.trim_end_matches('/')))
}

/// Returns the provider whose protocol a URL speaks, and the model that the path names. Providers with a domain are
/// recognized by it, the others by the path alone.
fn provider_and_model(host: &str, path: &str) -> Option<(Provider, Option<String>)> {
    let path = UrlPath::new(path)?;
    let has_domain = |domain: Option<&str>| domain.is_some_and(|domain| is_in_domain(host, domain));
    let all = || Provider::ALL.into_iter().filter_map(|provider| Some((provider, provider.spec().urls?)));
    let by_domain = all().filter(|(_, urls)| has_domain(urls.domain));
    let mut candidates = by_domain.chain(all().filter(|(_, urls)| urls.domain.is_none()));
    candidates.find_map(|(provider, urls)| Some((provider, (urls.model)(&path)?)))
}

fn is_in_domain(host: &str, domain: &str) -> bool {
    host.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}
