//! What a provider's response says of itself, read as it goes by: the model, what was used, the calls. S8
//!
//! ```
//! use tool_adapters::telemetry::observer::Observer;
//!
//! let mut observer = Observer::for_url("POST", "https://api.openai.com/v1/chat/completions").expect("a model's address");
//! // Whoever forwards the response shows it the bytes, in any pieces.
//! observer.push(br#"{"id": "chatcmpl-1", "model": "gpt-5-mini", "choices": [{"index": 0, "message": {"content": "#);
//! observer.push(br#""Hi"}}], "usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}}"#);
//! let used = observer.finish().expect("what was used");
//! assert_eq!((&*used.model, used.usage.input, used.usage.output), ("gpt-5-mini", 9, 2));
//! assert_eq!(used.response_id.as_deref(), Some("chatcmpl-1"));
//! ```
//!
//! [`trace::observe`](tool_core::trace::observe) counts the result.

use crate::providers::bedrock::event_stream::Frames;
use crate::providers::event::Event;
use crate::providers::protocol::{Protocol, protocol};
use crate::providers::provider::Provider;
use crate::providers::spec::UrlPath;
use crate::telemetry::prices;
use serde::Deserialize;
use std::borrow::Cow;
use tool_core::trace::{ModelUsage, TokenUsage};

/// So many calls of a response are told.
pub(crate) const MOST_CALLS: usize = 256;

/// Reads what a response says of itself. It never fails: what it does not understand it passes over. Of the response it
/// keeps what is not read yet (an event; an answer that does not stream, whole, up to 16 MiB) and the arguments of calls
/// that are open.
pub struct Observer {
    protocol: Box<dyn Protocol>,
    /// Bedrock's stream, if it is one.
    frames: Option<Frames>,
    billed_by: Option<Cow<'static, str>>,
    asked: Option<String>,
    begun: bool,
    seen: Seen,
}

/// What a message has said so far.
#[derive(Default)]
struct Seen {
    response_id: Option<String>,
    model: Option<String>,
    usage: Option<TokenUsage>,
    calls: Vec<(String, String)>,
}

/// What a whole response says of itself; `None` where it says nothing, as the answer to a request that was refused.
pub fn observed(provider: Provider, response: &[u8]) -> Option<ModelUsage> {
    let mut observer = Observer::new(provider);
    observer.push(response);
    observer.finish()
}

impl Observer {
    /// For a response of this provider.
    pub fn new(provider: Provider) -> Self {
        Self {
            protocol: protocol(provider),
            frames: None,
            billed_by: provider.spec().biller.map(Cow::Borrowed),
            asked: None,
            begun: false,
            seen: Seen::default(),
        }
    }

    /// For the response to a request to this URL; `None` where no model is asked there. It goes by the path, and by the
    /// host for who speaks as `OpenAI` does.
    pub fn for_url(method: &str, url: &str) -> Option<Self> {
        let place = place(method, url)?;
        Some(Self { billed_by: place.billed_by, asked: place.model, ..Self::new(place.provider) })
    }

    /// Shows it the body of the request: it says which model was asked, where the response does not.
    pub fn request(&mut self, body: &[u8]) {
        #[derive(Deserialize)]
        struct Asked {
            model: String,
        }
        if let Ok(Asked { model }) = serde_json::from_slice(body) {
            self.asked = Some(model);
        }
    }

    /// Who is paid, as price tables know it; `None` where the model's name has to tell.
    #[must_use]
    pub fn billed_by(mut self, provider: Option<impl Into<Cow<'static, str>>>) -> Self {
        self.billed_by = provider.map(Into::into);
        self
    }

    /// The provider whose protocol it reads.
    pub fn provider(&self) -> Provider {
        self.protocol.provider()
    }

    /// Reads the next bytes of the response.
    pub fn push(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        if !std::mem::replace(&mut self.begun, true) && self.is_framed(bytes) {
            self.frames = Some(Frames::default());
        }
        let Self { protocol, frames, seen, .. } = self;
        match frames {
            Some(frames) => frames.push(bytes, &mut |event| seen.take(protocol.push(event))),
            None => seen.take(protocol.push(bytes)),
        }
    }

    /// The response is over, or was given up: what it said of itself.
    pub fn finish(mut self) -> Option<ModelUsage> {
        self.seen.take(self.protocol.finish());
        let Seen { response_id, model, usage, calls } = self.seen;
        if usage.is_none() && response_id.is_none() && calls.is_empty() {
            return None;
        }
        let model = model.or(self.asked).unwrap_or_default();
        let mut used = ModelUsage::new(model, usage.unwrap_or_default());
        used.provider = self.billed_by;
        used.response_id = response_id;
        used.tool_calls = calls;
        Some(used)
    }

    /// Whether it is Bedrock's binary stream: its first byte is that of a length.
    fn is_framed(&self, bytes: &[u8]) -> bool {
        self.provider().spec().binary_frames && bytes.first() == Some(&0)
    }
}

impl Seen {
    fn take(&mut self, events: Vec<Event>) {
        for event in events {
            match event {
                Event::Response { id, model } => {
                    self.response_id = id.or(self.response_id.take());
                    self.model = model.or(self.model.take());
                }
                Event::Usage(usage) => self.usage = Some(usage),
                Event::CallStarted { id, name } if self.calls.len() < MOST_CALLS => self.calls.push((id, name)),
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

// ---- Which provider a request goes to.

/// Where a model is asked.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) provider: Provider,
    /// The model, where the path says it.
    pub(crate) model: Option<String>,
    /// Who is paid, where the host or the protocol says it.
    pub(crate) billed_by: Option<Cow<'static, str>>,
}

/// Where this request asks a model, if it does.
pub(crate) fn place(method: &str, url: &str) -> Option<Place> {
    if !method.eq_ignore_ascii_case("POST") {
        return None;
    }
    let (host, path) = parts(url)?;
    let (provider, model) = asked(&host, path)?;
    let by_host = prices::biller(&format!("https://{host}{path}"));
    let billed_by = by_host.or(provider.spec().biller).map(Cow::Borrowed);
    Some(Place { provider, model, billed_by })
}

/// The host and the path of a URL.
fn parts(url: &str) -> Option<(String, &str)> {
    let (_, rest) = url.split_once("://")?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at(end);
    let with_port = authority.rsplit('@').next()?;
    // An address in brackets has colons of its own.
    let host = with_port.rsplit_once(':').filter(|(_, port)| !port.ends_with(']')).map_or(with_port, |(host, _)| host);
    let path = rest.split(['?', '#']).next().unwrap_or_default();
    Some((host.to_ascii_lowercase(), path.trim_end_matches('/')))
}

/// The protocol that is spoken there, and the model that is asked. A provider with a domain is known by it; after them
/// the path decides.
fn asked(host: &str, path: &str) -> Option<(Provider, Option<String>)> {
    let path = UrlPath::new(path)?;
    let at = |domain: Option<&str>| domain.is_some_and(|domain| is_of(host, domain));
    let known = || Provider::ALL.into_iter().filter_map(|provider| Some((provider, provider.spec().urls?)));
    let own = known().filter(|(_, urls)| at(urls.domain)).chain(known().filter(|(_, urls)| urls.domain.is_none()));
    own.into_iter().find_map(|(provider, urls)| Some((provider, (urls.model)(&path)?)))
}

fn is_of(host: &str, domain: &str) -> bool {
    host.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}
