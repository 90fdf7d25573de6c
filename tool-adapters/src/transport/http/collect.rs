//! From the events of one answer to a step of the loop.

use crate::providers::declare::Declarations;
use crate::providers::event::{Event, Finish, ProtocolError};
use crate::providers::provider::Provider;
use crate::transport::api_key::{ApiKey, logged};
use crate::transport::http::Listener;
use crate::transport::http::failure::{Again, Failure};
use serde_json::Value;
use std::borrow::Cow;
use tool_core::session::{ModelInfo, ModelStep, RawTurn};
use tool_core::tool::ProviderId;
use tool_core::trace::{ModelUsage, TokenUsage};
use tool_core::{ToolCall, ToolError, trace};

/// What an answer has said so far.
pub(crate) struct Collected<'a> {
    provider: Provider,
    declarations: &'a Declarations,
    key: Option<&'a ApiKey>,
    listener: Option<&'a mut Listener>,
    /// Whether the host has been shown a part of the answer.
    shown: bool,
    text: String,
    calls: Vec<ToolCall>,
    /// The ids of calls that were cut off.
    cut: Vec<String>,
    items: Vec<Value>,
    seen: Seen,
    finish: Option<Finish>,
    /// The first thing that was wrong.
    trouble: Option<ProtocolError>,
}

impl<'a> Collected<'a> {
    pub(crate) fn new(
        provider: Provider,
        declarations: &'a Declarations,
        key: Option<&'a ApiKey>,
        listener: Option<&'a mut Listener>,
        seen: Seen,
    ) -> Self {
        Self {
            provider,
            declarations,
            key,
            listener,
            shown: false,
            text: String::new(),
            calls: Vec::new(),
            cut: Vec::new(),
            items: Vec::new(),
            seen,
            finish: None,
            trouble: None,
        }
    }

    pub(crate) fn take(&mut self, events: Vec<Event>) {
        for event in events {
            self.event(event);
        }
    }

    fn event(&mut self, event: Event) {
        let event = self.restored(event);
        if let Some(listener) = &mut self.listener {
            listener(&event);
            self.shown |= !is_aside(&event);
        }
        match event {
            Event::Text(text) => self.text.push_str(&text),
            Event::Call(call) => self.calls.push(call),
            Event::Item(item) => self.items.push(item),
            Event::Response { id, model } => self.seen.response(id, model),
            Event::Usage(usage) => self.seen.usage(usage),
            Event::Finished(finish) => self.finish = Some(finish),
            Event::Error(error) => self.wrong(error),
            _ => {}
        }
    }

    /// Under the tools' own names, as the host knows them.
    fn restored(&self, event: Event) -> Event {
        match event {
            Event::Call(call) => Event::Call(self.declarations.restore(call)),
            Event::CallStarted { id, name } => {
                let name = self.declarations.tool_name(&name).map_or(name, str::to_owned);
                Event::CallStarted { id, name }
            }
            event => event,
        }
    }

    fn wrong(&mut self, error: ProtocolError) {
        let said = logged(&error.to_string(), self.key);
        tracing::warn!(provider = %self.provider, error = %said, "a model's answer is not as it should be");
        if let ProtocolError::Truncated { call_id: Some(id) } = &error {
            self.cut.push(id.clone());
        }
        // An error of the provider's own says more than what followed from it.
        if self.trouble.is_none() || matches!(error, ProtocolError::Provider { .. }) {
            self.trouble = Some(error);
        }
    }

    /// The step, where it can go on; `broken`: why the answer ended early.
    ///
    /// An answer that broke off in the middle is asked for again, but not once a call of it is whole (then the whole
    /// calls are the step, and what was cut off is left out), and not once the host has been shown a part of it.
    pub(crate) fn step(mut self, broken: Option<Failure>) -> Result<ModelStep, Failure> {
        let whole = self.finish.is_some();
        if !whole {
            let before = self.calls.len();
            self.calls.retain(|call| !self.cut.iter().any(|id| id == call.id()));
            if self.calls.len() < before {
                // They hold the call that is left out.
                self.items.clear();
            }
        }
        let told = matches!(self.trouble, Some(ProtocolError::Provider { .. }));
        match (self.calls.is_empty(), whole && !told) {
            (true, false) => Err(self.broken_off(broken)),
            (true, true) if self.text.is_empty() && self.items.is_empty() => self.silent(),
            (_, true) => Ok(self.into_step()),
            (false, false) => {
                tracing::warn!(provider = %self.provider, calls = self.calls.len(), "an answer broke off after calls: they run");
                Ok(self.into_step())
            }
        }
    }

    fn broken_off(self, broken: Option<Failure>) -> Failure {
        let mut failure = match (&self.trouble, broken) {
            (Some(error @ ProtocolError::Provider { .. }), _) => Failure::of_stream(error, self.key),
            (_, Some(broken)) => broken,
            (Some(error @ ProtocolError::Malformed { .. }), None) if self.is_nothing() => self.foreign(error),
            (Some(error), None) => Failure::of_stream(error, self.key),
            (None, None) => Failure::soon("the provider's answer ended in the middle"),
        };
        if self.shown {
            failure.again = Again::Never;
        }
        failure
    }

    fn is_nothing(&self) -> bool {
        self.text.is_empty() && self.calls.is_empty() && self.items.is_empty()
    }

    /// Another server answers there.
    fn foreign(&self, error: &ProtocolError) -> Failure {
        let message = Failure::of_stream(error, self.key).error.message().to_owned();
        let provider = self.provider;
        Failure::never(ToolError::permanent(format!(
            "the answer is none of {provider}'s; look at the base URL and the provider: {message}"
        )))
    }

    /// The answer is whole, and there is nothing in it.
    fn silent(self) -> Result<ModelStep, Failure> {
        let why = match (&self.finish, &self.trouble) {
            (Some(Finish::Length), _) => "the answer had grown too long before it said anything; raise `max_tokens`",
            (Some(Finish::Filtered), _) => "the provider has held the answer back",
            (_, Some(error)) => return Err(self.foreign(error)),
            _ => return Ok(self.into_step()),
        };
        Err(Failure::never(ToolError::permanent(why)))
    }

    fn into_step(self) -> ModelStep {
        let cut = self.cut;
        let calls = self
            .calls
            .into_iter()
            .map(|call| if cut.iter().any(|id| id == call.id()) { unfinished(call) } else { call });
        let provider = ProviderId::from_static(self.provider.spec().turn_id);
        let native = (!self.items.is_empty()).then(|| RawTurn { provider, items: self.items });
        ModelStep {
            text: Some(self.text).filter(|text| !text.is_empty()),
            calls: calls.collect(),
            native,
            usage: self.seen.used(),
            model: self.seen.model(),
            response_id: self.seen.response_id(),
        }
    }
}

/// Whether it is no part of what the model says.
fn is_aside(event: &Event) -> bool {
    matches!(event, Event::Response { .. } | Event::Usage(_) | Event::Unknown(_) | Event::Error(_))
}

/// A call of an answer that grew too long. It gets its answer, which is that its arguments are not JSON; but where none
/// of them had come yet, they would be read as `{}`.
fn unfinished(call: ToolCall) -> ToolCall {
    if call.arguments().trim().is_empty() { ToolCall::new(call.id(), call.name(), "{") } else { call }
}

// ---- What is seen of an answer's use, however the answer ends: the provider counts what it has read, and what it has said
// until nobody listened any longer.

/// Tells what it knows to the span around it when it is dropped, as something seen: whoever asked may tell it better.
pub(crate) struct Seen {
    about: ModelInfo,
    /// Whether nobody is told.
    unseen: bool,
    model: Option<String>,
    response_id: Option<String>,
    usage: TokenUsage,
}

impl Seen {
    pub(crate) fn new(about: ModelInfo) -> Self {
        Self { about, unseen: false, model: None, response_id: None, usage: TokenUsage::default() }
    }

    /// For a request without a span: who is paid for the model is then not asked either.
    pub(crate) fn unseen(model: &str) -> Self {
        let about = ModelInfo { model: model.to_owned().into(), provider: None };
        let mut seen = Self::new(about);
        seen.unseen = true;
        seen
    }

    pub(crate) fn response(&mut self, id: Option<String>, model: Option<String>) {
        self.response_id = id.or(self.response_id.take());
        self.model = model.or(self.model.take());
    }

    pub(crate) fn usage(&mut self, usage: TokenUsage) {
        self.usage = usage;
    }

    pub(crate) fn used(&self) -> TokenUsage {
        self.usage
    }

    /// The model, where the provider calls it otherwise than it was asked for.
    pub(crate) fn model(&self) -> Option<String> {
        self.model.clone().filter(|model| *model != self.about.model)
    }

    pub(crate) fn response_id(&self) -> Option<String> {
        self.response_id.clone()
    }
}

impl Drop for Seen {
    fn drop(&mut self) {
        if self.unseen || self.usage.is_empty() {
            return;
        }
        let model = self.model.take().map_or_else(|| std::mem::take(&mut self.about.model), Cow::Owned);
        let mut used = ModelUsage::new(model, self.usage);
        (used.provider, used.response_id) = (self.about.provider.take(), self.response_id.take());
        trace::observe(used);
    }
}
