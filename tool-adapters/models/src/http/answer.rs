//! The events of an answer, collected into a step of the agent loop.

use crate::http::failure::{RequestFailure, RetryAdvice};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::sync::Arc;
use tool_adapters_http::api_key::{ApiKey, log_excerpt, redact_event};
use tool_adapters_providers::turns::REFUSED_TURN;
use tool_adapters_providers::{Declarations, Event, Finish, ProtocolError, Provider};
use tool_core::session::{EventSender, ModelInfo, ModelStep, RawTurn, ReplyFinish};
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
    /// The id of the server's steps in the history.
    pub(crate) turn_id: ProviderId,
    pub(crate) declarations: &'a Declarations,
    pub(crate) key: Option<&'a ApiKey>,
    pub(crate) listener: Option<&'a mut EventListener>,
    /// True if the listener or the reader of the events has seen a part of the answer.
    pub(crate) has_shown_output: &'a mut bool,
    /// The reader of the reply's events.
    pub(crate) events: Option<&'a EventSender>,
    pub(crate) usage: UsageReporter,
    pub(crate) answer: Answer,
}

/// The part of an answer that has arrived.
#[derive(Default)]
pub(crate) struct Answer {
    text: String,
    calls: Vec<ToolCall>,
    items: Vec<Value>,
    finish: Option<Finish>,
    /// The first loss, or the provider's own error.
    loss: Option<ProtocolError>,
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
            *self.has_shown_output |= !matches!(
                event,
                Event::Response { .. }
                    | Event::ServiceTier(_)
                    | Event::Usage(_)
                    | Event::Unknown(_)
                    | Event::Error(_)
            );
        }
        self.show(&event);
        match event {
            Event::Text(text) => self.answer.text.push_str(&text),
            Event::Call(call) | Event::CutCall(call) => self.answer.calls.push(call),
            Event::Item(item) => self.answer.items.push(item),
            Event::Response { id, model } => self.usage.set_response(id, model),
            Event::ServiceTier(tier) => self.usage.service_tier = Some(tier),
            Event::Usage(usage) => self.usage.usage = usage,
            Event::Finished(finish) => self.answer.finish = Some(finish),
            Event::Error(error) => self.collect_error(error),
            _ => {}
        }
    }

    /// Shows a piece of the answer to the reader of the reply's events.
    fn show(&mut self, event: &Event) {
        let Some(events) = self.events else { return };
        match event {
            Event::Text(piece) => events.text(piece),
            Event::Reasoning(piece) => events.reasoning(piece),
            _ => return,
        }
        *self.has_shown_output = true;
    }

    /// Restores the tools' own names in calls.
    fn restore_names(&self, event: Event) -> Event {
        match event {
            Event::Call(call) => Event::Call(self.declarations.restore(call)),
            Event::CutCall(call) => Event::CutCall(self.declarations.restore(call)),
            Event::CallStarted { id, name } => {
                let name = self
                    .declarations
                    .tool_name(&name)
                    .map_or(name, str::to_owned);
                Event::CallStarted { id, name }
            }
            event => event,
        }
    }

    /// Returns true once the answer has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.answer.finish.is_some()
    }

    fn collect_error(&mut self, error: ProtocolError) {
        let message = log_excerpt(&error.to_string(), self.key);
        tracing::warn!(provider = %self.provider, error = %message, "failed to read a part of a model's answer");
        // The provider's error is the cause of the errors that follow from it.
        let is_cause =
            self.answer.loss.is_none() || matches!(error, ProtocolError::Provider { .. });
        if error.is_loss() && is_cause {
            self.answer.loss = Some(error);
        }
    }

    /// Returns the step. `failure` is the reason if the answer ended early.
    ///
    /// Of an answer that did not end, or of which something was lost, nothing counts. It is not
    /// retried if the listener has seen a part of it.
    pub(crate) fn into_step(
        self,
        failure: Option<RequestFailure>,
    ) -> Result<ModelStep, RequestFailure> {
        let Some(finish) = self
            .answer
            .finish
            .as_ref()
            .filter(|_| self.answer.loss.is_none())
        else {
            return Err(self.incomplete(failure));
        };
        let finish = finish.reply_finish();
        Ok(self.step(finish))
    }

    /// Returns the failure of an answer that is none. `failure` is the reason if it ended early.
    pub(crate) fn incomplete(self, failure: Option<RequestFailure>) -> RequestFailure {
        let mut failure = match (&self.answer.loss, failure) {
            (Some(error @ ProtocolError::Provider { .. }), _) => {
                RequestFailure::from_stream(error, self.key)
            }
            (_, Some(failure)) => failure,
            (Some(error @ ProtocolError::Malformed { text, .. }), None)
                if self.is_foreign(text) =>
            {
                self.unexpected_answer(error)
            }
            (Some(error), None) => RequestFailure::from_stream(error, self.key),
            (None, None) => RequestFailure::transient("the provider's answer ended early"),
        };
        if *self.has_shown_output {
            failure.retry = RetryAdvice::Never;
        }
        failure
    }

    /// Returns true if nothing has come that this provider sends: the text that could not be read
    /// is no JSON either, such as a page of another server.
    fn is_foreign(&self, text: &str) -> bool {
        let answer = &self.answer;
        let has_output =
            !answer.text.is_empty() || !answer.calls.is_empty() || !answer.items.is_empty();
        let is_json = text.trim_start().starts_with(['{', '[']);
        !(has_output || self.usage.has_response() || is_json)
    }

    /// Returns the failure for an answer of another server or protocol.
    fn unexpected_answer(&self, error: &ProtocolError) -> RequestFailure {
        let message = RequestFailure::from_stream(error, self.key)
            .error
            .message()
            .to_owned();
        let provider = self.provider;
        RequestFailure::permanent(ToolError::permanent(format!(
            "expected an answer in the form of {provider}; check the base URL and the provider: {message}"
        )))
    }

    fn step(mut self, finish: ReplyFinish) -> ModelStep {
        self.usage.failed = None;
        let spec = self.provider.spec();
        if finish == ReplyFinish::Refused && spec.repeats_refusals {
            self.answer.items.push(json!({"type": REFUSED_TURN}));
        }
        let model_item = spec.model_item(self.model, &self.answer.items);
        self.answer.items.extend(model_item);
        let provider = self.turn_id;
        ModelStep {
            text: Some(self.answer.text).filter(|text| !text.is_empty()),
            calls: self.answer.calls,
            native: (!self.answer.items.is_empty()).then(|| RawTurn {
                provider,
                items: self.answer.items,
            }),
            usage: self.usage.usage,
            model: self.usage.model.clone().filter(|model| model != self.model),
            service_tier: self.usage.service_tier.clone(),
            response_id: self.usage.response_id.clone(),
            finish,
            max_tokens: None,
            answered_by: None,
        }
    }
}

/// The tokens of answers that were paid for and gave no step, until the loop asks for them.
pub(crate) type FailedUsage = Arc<Mutex<TokenUsage>>;

/// The usage of an answer. Dropping it reports the usage to the current span as observed, however
/// the answer ends, as the provider bills the tokens of a broken answer too.
pub(crate) struct UsageReporter {
    /// Takes the usage of an answer that gives no step. `None` once it has given one.
    failed: Option<FailedUsage>,
    /// The requested model and its biller. `None` for a request without a span, whose usage is not
    /// reported.
    info: Option<ModelInfo>,
    model: Option<String>,
    service_tier: Option<String>,
    response_id: Option<String>,
    usage: TokenUsage,
}

impl UsageReporter {
    pub(crate) fn new(info: Option<ModelInfo>, failed: FailedUsage) -> Self {
        let failed = Some(failed);
        Self {
            failed,
            info,
            model: None,
            service_tier: None,
            response_id: None,
            usage: TokenUsage::default(),
        }
    }

    /// Returns true if the provider has named the response or its usage.
    fn has_response(&self) -> bool {
        self.response_id.is_some() || self.model.is_some() || !self.usage.is_empty()
    }

    fn set_response(&mut self, id: Option<String>, model: Option<String>) {
        self.response_id = id.or(self.response_id.take());
        self.model = model.or(self.model.take());
    }
}

impl Drop for UsageReporter {
    fn drop(&mut self) {
        if let Some(failed) = &self.failed {
            *failed.lock() += self.usage;
        }
        let Some(info) = self.info.take().filter(|_| !self.usage.is_empty()) else {
            return;
        };
        let mut used =
            ModelUsage::new(self.model.take().map_or(info.model, Cow::Owned), self.usage);
        (used.provider, used.response_id) = (info.provider, self.response_id.take());
        used.service_tier = self.service_tier.take().map(Cow::Owned);
        trace::observe(used);
    }
}
