//! The spans of a live conversation: the agent's span, with a child for each response of the model.
//! Calls are children of the agent's span too, as they may outlast the response that made them.

use crate::model_access::model_info;
use crate::websocket::model::{LiveModel, live_api};
use std::borrow::Cow;
use std::sync::LazyLock;
use tool_adapters_providers::{Event, Finish};
use tool_core::session::ModelInfo;
use tool_core::trace::{ModelUsage, SpanHandle, SpanKind, TokenUsage};
use tool_core::{ToolError, trace};

pub(crate) struct ConversationSpans {
    // Dropped before the span that contains it.
    responses: ResponseSpans,
    /// The span in which calls run.
    pub(crate) agent: SpanHandle,
    /// The model that transcribes the user's speech, where it is billed beside the other one.
    pub(crate) transcriber: Option<String>,
}

struct ResponseSpans {
    /// Looked up only if there is a span.
    info: LazyLock<ModelInfo, Box<dyn FnOnce() -> ModelInfo + Send>>,
    model: Cow<'static, str>,
    /// True if an interruption ends the response. Otherwise the response's own end says whether it
    /// was stopped.
    interruption_ends_response: bool,
    open: Option<OpenResponse>,
    /// The tier of the next usage.
    service_tier: Option<String>,
    counted: CountedUsage,
}

/// The usage that was counted last. Gemini Live names no responses, and repeats or completes a
/// usage after the response has ended and after the connection broke.
#[derive(Default)]
struct CountedUsage {
    usage: TokenUsage,
    /// True if the usage may come again inside of a response: the connection broke, or it came
    /// outside of one.
    may_repeat: bool,
}

struct OpenResponse {
    span: SpanHandle,
    used: ModelUsage,
    has_usage: bool,
    was_stopped: bool,
    end: Option<ResponseEnd>,
}

#[derive(Clone, Copy)]
enum ResponseEnd {
    Complete,
    Stopped,
    Failed(&'static str),
}

impl ConversationSpans {
    /// Opens the agent's span in the current span.
    pub(crate) fn open(model: &LiveModel) -> Self {
        let live = live_api(model.provider);
        let provider = model.provider;
        let name = model.model.clone();
        let url = model.access.base_url.clone();
        let responses = ResponseSpans {
            info: LazyLock::new(Box::new(move || {
                model_info(provider, &name, url.as_deref().unwrap_or_default())
            })),
            model: model.model.clone().into(),
            interruption_ends_response: live.is_some_and(|live| live.interruption_ends_response),
            open: None,
            service_tier: None,
            counted: CountedUsage::default(),
        };
        let agent = match &model.transport.name {
            Some(name) => SpanHandle::open(SpanKind::Agent, name.clone()),
            None => SpanHandle::open_if_wanted(SpanKind::Agent, "agent"),
        };
        Self {
            responses,
            agent,
            transcriber: None,
        }
    }

    /// Records an event of the model.
    pub(crate) fn record(&mut self, event: &Event) {
        let Self {
            responses, agent, ..
        } = self;
        match event {
            Event::ServiceTier(tier) => responses.service_tier = Some(tier.clone()),
            Event::Usage(usage) => responses.record_usage(*usage, agent),
            Event::Finished(finish) => responses.finish(finish),
            Event::Interrupted => responses.interrupt(),
            Event::Cancelled(_) | Event::Unknown(_) | Event::Error(_) => {}
            output => responses.open(agent).record(output),
        }
    }

    /// Records what the transcript of a piece of the user's speech has cost. It is no part of a
    /// response.
    pub(crate) fn record_transcription(&self, usage: TokenUsage) {
        let Some(model) = &self.transcriber else {
            return;
        };
        if self.agent.is_open() {
            let mut used = ModelUsage::new(model.clone(), usage);
            used.provider.clone_from(&self.responses.info.provider);
            self.agent.run(|| trace::record(used));
        }
    }

    /// Ends the response if all events of a message have been recorded and it is complete.
    pub(crate) fn end_message(&mut self) {
        // Gemini ends a response with calls by its usage. The next response begins with the
        // results.
        let is_complete = |response: &OpenResponse| {
            response.end.is_some() || (response.has_usage && !response.used.tool_calls.is_empty())
        };
        if self.responses.open.as_ref().is_some_and(is_complete) {
            self.responses.close(ResponseEnd::Complete);
        }
    }

    /// Ends the response with an error, because the connection broke.
    pub(crate) fn disconnect(&mut self) {
        self.responses.close(ResponseEnd::Failed("connection"));
        self.responses.counted.may_repeat = true;
    }

    /// Ends the conversation, with the error if it failed.
    pub(crate) fn close(self, error: Option<&ToolError>) {
        let Self {
            responses, agent, ..
        } = self;
        drop(responses);
        match error {
            Some(error) => agent.fail_with(error),
            None => agent.end(),
        }
    }
}

impl ResponseSpans {
    fn open(&mut self, agent: &SpanHandle) -> &mut OpenResponse {
        let Self {
            info, model, open, ..
        } = self;
        open.get_or_insert_with(|| {
            let span = agent.run(|| SpanHandle::open_if_wanted(SpanKind::Llm, model.clone()));
            let mut used = ModelUsage::new(model.clone(), TokenUsage::default());
            if span.is_open() {
                used.provider.clone_from(&info.provider);
            }
            OpenResponse {
                span,
                used,
                has_usage: false,
                was_stopped: false,
                end: None,
            }
        })
    }

    fn record_usage(&mut self, usage: TokenUsage, agent: &SpanHandle) {
        let service_tier = self.service_tier.take().map(Cow::Owned);
        if let Some(response) = &mut self.open {
            (response.used.usage, response.used.service_tier) = (usage, service_tier);
            response.has_usage = true;
        } else if let Some(usage) = self.counted.count(usage, false).filter(|_| agent.is_open()) {
            // The span of the response has ended.
            let mut used = ModelUsage::new(self.info.model.clone(), usage);
            (used.provider, used.service_tier) = (self.info.provider.clone(), service_tier);
            agent.run(|| trace::record(used));
        }
    }

    fn interrupt(&mut self) {
        if let Some(response) = &mut self.open {
            response.was_stopped = self.interruption_ends_response;
        }
    }

    fn finish(&mut self, finish: &Finish) {
        let Some(response) = &mut self.open else {
            return;
        };
        response.end = Some(match finish {
            _ if response.was_stopped => ResponseEnd::Stopped,
            Finish::Other(reason) if reason == "cancelled" => ResponseEnd::Stopped,
            Finish::Other(reason) if reason == "failed" => ResponseEnd::Failed("provider"),
            _ => ResponseEnd::Complete,
        });
    }

    /// Ends the span of the open response. Its own end takes precedence over the given one.
    fn close(&mut self, end: ResponseEnd) {
        let Some(mut response) = self.open.take() else {
            return;
        };
        if !response.has_usage || response.used.response_id.is_some() {
            self.counted = CountedUsage::default();
        }
        let usage = Some(response.used.usage).filter(|_| response.has_usage);
        if let Some(usage) = usage.and_then(|usage| self.counted.count(usage, true))
            && response.span.is_open()
        {
            response.used.usage = usage;
            response.span.run(|| trace::record(response.used));
        }
        match response.end.unwrap_or(end) {
            ResponseEnd::Complete => response.span.end(),
            ResponseEnd::Stopped => drop(response.span),
            ResponseEnd::Failed(kind) => response.span.fail(kind),
        }
    }
}

impl CountedUsage {
    /// Counts a usage. Returns the part of it that was not counted before, or `None` for a repeated
    /// one.
    fn count(&mut self, usage: TokenUsage, in_response: bool) -> Option<TokenUsage> {
        // A later response reads more, because its input is the conversation so far.
        let is_same = usage.input == self.usage.input && (self.may_repeat || !in_response);
        let earlier = if is_same {
            self.usage
        } else {
            TokenUsage::default()
        };
        let new = usage.since(earlier);
        *self = Self {
            usage: earlier + new,
            may_repeat: !in_response,
        };
        Some(new).filter(|new| !is_same || !new.is_empty())
    }
}

impl Drop for ResponseSpans {
    fn drop(&mut self) {
        self.close(ResponseEnd::Stopped);
    }
}

impl OpenResponse {
    fn record(&mut self, event: &Event) {
        match event {
            Event::Response { id, model } => {
                if let Some(model) = model {
                    self.used.model = model.clone().into();
                }
                self.used.response_id.clone_from(id);
            }
            Event::Call(call) | Event::CutCall(call) => {
                self.used
                    .tool_calls
                    .push((call.id().to_owned(), call.name().to_owned()));
            }
            _ => {}
        }
    }
}
