//! The events of an answer, collected into a step of the agent loop.

use crate::providers::{Declarations, Event, Finish, ProtocolError, Provider};
use crate::transport::api_key::{ApiKey, log_excerpt, redact_event};
use crate::transport::http::failure::{RequestFailure, RetryAdvice};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::HashSet;
use tool_core::session::{ModelInfo, ModelStep, RawTurn};
use tool_core::tool::ProviderId;
use tool_core::trace::{ModelUsage, TokenUsage};
use tool_core::{ToolCall, ToolError, trace};

/// A function that sees the events of answers.
pub(crate) type EventListener = Box<dyn FnMut(&Event) + Send>;

/// Collects the events of one answer.
pub(crate) struct AnswerCollector<'a> {
    pub(crate) provider: Provider,
    /// The name of the requested model.
    pub(crate) model: &'a str,
    pub(crate) declarations: &'a Declarations,
    pub(crate) key: Option<&'a ApiKey>,
    pub(crate) listener: Option<&'a mut EventListener>,
    pub(crate) usage: UsageReporter,
    pub(crate) answer: Answer,
}

/// The part of an answer that has arrived.
#[derive(Default)]
pub(crate) struct Answer {
    text: String,
    calls: Vec<ToolCall>,
    truncated_calls: HashSet<String>,
    items: Vec<Value>,
    finish: Option<Finish>,
    /// The first error, or the provider's own.
    error: Option<ProtocolError>,
    /// True if the listener has seen a part of the answer.
    was_shown: bool,
}

impl AnswerCollector<'_> {
    pub(crate) fn collect(&mut self, events: Vec<Event>) {
        for event in events {
            self.collect_event(event);
        }
    }

    fn collect_event(&mut self, event: Event) {
        let event = redact_event(self.restore_names(event), self.key);
        if let Some(listener) = &mut self.listener {
            listener(&event);
            self.answer.was_shown |= !matches!(
                event,
                Event::Response { .. } | Event::ServiceTier(_) | Event::Usage(_) | Event::Unknown(_) | Event::Error(_)
            );
        }
        match event {
            Event::Text(text) => self.answer.text.push_str(&text),
            Event::Call(call) => self.answer.calls.push(call),
            Event::Item(item) => self.answer.items.push(item),
            Event::Response { id, model } => self.usage.set_response(id, model),
            Event::ServiceTier(tier) => self.usage.service_tier = Some(tier),
            Event::Usage(usage) => self.usage.usage = usage,
            Event::Finished(finish) => self.answer.finish = Some(finish),
            Event::Error(error) => self.collect_error(error),
            _ => {}
        }
    }

    /// Restores the tools' own names in calls.
    fn restore_names(&self, event: Event) -> Event {
        match event {
            Event::Call(call) => Event::Call(self.declarations.restore(call)),
            Event::CallStarted { id, name } => {
                let name = self.declarations.tool_name(&name).map_or(name, str::to_owned);
                Event::CallStarted { id, name }
            }
            event => event,
        }
    }

    fn collect_error(&mut self, error: ProtocolError) {
        let message = log_excerpt(&error.to_string(), self.key);
        tracing::warn!(provider = %self.provider, error = %message, "failed to read a part of a model's answer");
        if let ProtocolError::Truncated { call_id: Some(id) } = &error {
            self.answer.truncated_calls.insert(id.clone());
        }
        // The provider's error is the cause of the errors that follow from it.
        if self.answer.error.is_none() || matches!(error, ProtocolError::Provider { .. }) {
            self.answer.error = Some(error);
        }
    }

    /// Returns the step. `failure` is the reason if the answer ended early.
    ///
    /// If an answer broke off, its complete calls are the step, and incomplete ones are left out. An answer without
    /// complete calls is a failure, which is not retried if the listener has seen a part of the answer.
    pub(crate) fn into_step(mut self, failure: Option<RequestFailure>) -> Result<ModelStep, RequestFailure> {
        let is_complete = self.answer.finish.is_some();
        if !is_complete {
            let before = self.answer.calls.len();
            self.answer.calls.retain(|call| !self.answer.truncated_calls.contains(call.id()));
            if self.answer.calls.len() < before {
                // The raw turn contains the call that is left out.
                self.answer.items.clear();
            }
        }
        let has_provider_error = matches!(self.answer.error, Some(ProtocolError::Provider { .. }));
        match (self.answer.calls.is_empty(), is_complete && !has_provider_error) {
            (true, false) => Err(self.incomplete(failure)),
            (true, true) if self.answer.text.is_empty() && self.answer.items.is_empty() => self.empty(),
            (_, true) => Ok(self.step()),
            (false, false) => {
                let calls = self.answer.calls.len();
                tracing::warn!(provider = %self.provider, calls, "an answer broke off; its complete calls run");
                Ok(self.step())
            }
        }
    }

    fn incomplete(self, failure: Option<RequestFailure>) -> RequestFailure {
        let answer = &self.answer;
        let has_no_output = answer.text.is_empty() && answer.calls.is_empty() && answer.items.is_empty();
        let mut failure = match (&answer.error, failure) {
            (Some(error @ ProtocolError::Provider { .. }), _) => RequestFailure::from_stream(error, self.key),
            (_, Some(failure)) => failure,
            (Some(error @ ProtocolError::Malformed { .. }), None) if has_no_output => self.unexpected_answer(error),
            (Some(error), None) => RequestFailure::from_stream(error, self.key),
            (None, None) => RequestFailure::transient("the provider's answer ended early"),
        };
        if self.answer.was_shown {
            failure.retry = RetryAdvice::Never;
        }
        failure
    }

    /// Returns the failure for an answer of another server or protocol.
    fn unexpected_answer(&self, error: &ProtocolError) -> RequestFailure {
        let message = RequestFailure::from_stream(error, self.key).error.message().to_owned();
        let provider = self.provider;
        RequestFailure::permanent(ToolError::permanent(format!(
            "expected an answer in the form of {provider}; check the base URL and the provider: {message}"
        )))
    }

    /// Returns the result of a complete answer without content.
    fn empty(self) -> Result<ModelStep, RequestFailure> {
        let message = match (&self.answer.finish, &self.answer.error) {
            (Some(Finish::Length), _) => "the answer reached the token limit before it had content; raise `max_tokens`",
            (Some(Finish::Filtered), _) => "the provider filtered the answer",
            (_, Some(error)) => return Err(self.unexpected_answer(error)),
            _ => return Ok(self.step()),
        };
        Err(RequestFailure::permanent(ToolError::permanent(message)))
    }

    fn step(self) -> ModelStep {
        let truncated = self.answer.truncated_calls;
        let is_truncated = |call: &ToolCall| truncated.contains(call.id());
        let calls = self.answer.calls.into_iter().map(|call| {
            if is_truncated(&call) && call.arguments().trim().is_empty() {
                // Without arguments the call would run as if it took none. `{` makes its response report invalid JSON.
                ToolCall::new(call.id(), call.name(), "{")
            } else {
                call
            }
        });
        let provider = ProviderId::from_static(self.provider.spec().turn_id);
        ModelStep {
            text: Some(self.answer.text).filter(|text| !text.is_empty()),
            calls: calls.collect(),
            native: (!self.answer.items.is_empty()).then(|| RawTurn { provider, items: self.answer.items }),
            usage: self.usage.usage,
            model: self.usage.model.clone().filter(|model| model != self.model),
            service_tier: self.usage.service_tier.clone(),
            response_id: self.usage.response_id.clone(),
        }
    }
}

/// The usage of an answer. Dropping it reports the usage to the current span as observed, however the answer ends, as the
/// provider bills the tokens of a broken answer too.
pub(crate) struct UsageReporter {
    /// The requested model and its biller. `None` for a request without a span, whose usage is not reported.
    info: Option<ModelInfo>,
    model: Option<String>,
    service_tier: Option<String>,
    response_id: Option<String>,
    usage: TokenUsage,
}

impl UsageReporter {
    pub(crate) fn new(info: Option<ModelInfo>) -> Self {
        Self { info, model: None, service_tier: None, response_id: None, usage: TokenUsage::default() }
    }

    fn set_response(&mut self, id: Option<String>, model: Option<String>) {
        self.response_id = id.or(self.response_id.take());
        self.model = model.or(self.model.take());
    }
}

impl Drop for UsageReporter {
    fn drop(&mut self) {
        let Some(info) = self.info.take().filter(|_| !self.usage.is_empty()) else { return };
        let mut used = ModelUsage::new(self.model.take().map_or(info.model, Cow::Owned), self.usage);
        (used.provider, used.response_id) = (info.provider, self.response_id.take());
        used.service_tier = self.service_tier.take().map(Cow::Owned);
        trace::observe(used);
    }
}
