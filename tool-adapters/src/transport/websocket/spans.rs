//! The spans of a live conversation: the agent's span, with a child for each response of the model. Calls are children of
//! the agent's span too, as they may outlast the response that made them.

use crate::providers::{Event, Finish};
use crate::transport::model_access::model_info;
use crate::transport::websocket::model::{LiveModel, live_api};
use std::borrow::Cow;
use std::sync::LazyLock;
use tool_core::session::ModelInfo;
use tool_core::trace::{ModelUsage, SpanHandle, SpanKind, TokenUsage};
use tool_core::{ToolError, trace};

pub(crate) struct ConversationSpans {
    // Dropped before the span that contains it.
    responses: ResponseSpans,
    /// The span in which calls run.
    pub(crate) agent: SpanHandle,
}

struct ResponseSpans {
    /// Looked up only if there is a span.
    info: LazyLock<ModelInfo, Box<dyn FnOnce() -> ModelInfo + Send>>,
    model: Cow<'static, str>,
    /// True if an interruption ends the response. Otherwise the response's own end says whether it was stopped.
    interruption_ends_response: bool,
    open: Option<OpenResponse>,
    /// True if the last response has reported its usage. The provider may repeat it after the response has ended.
    has_reported_usage: bool,
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
        let (provider, name, url) = (model.provider, model.model.clone(), model.access.base_url.clone());
        let responses = ResponseSpans {
            info: LazyLock::new(Box::new(move || model_info(provider, &name, url.as_deref().unwrap_or_default()))),
            model: model.model.clone().into(),
            interruption_ends_response: live.is_some_and(|live| live.interruption_ends_response),
            open: None,
            has_reported_usage: false,
        };
        let agent = match &model.transport.name {
            Some(name) => SpanHandle::open(SpanKind::Agent, name.clone()),
            None => SpanHandle::open_if_wanted(SpanKind::Agent, "agent"),
        };
        Self { responses, agent }
    }

    /// Records an event of the model.
    pub(crate) fn record(&mut self, event: &Event) {
        let Self { responses, agent } = self;
        match event {
            Event::Usage(usage) => responses.record_usage(*usage, agent),
            Event::Finished(finish) => responses.finish(finish),
            Event::Interrupted => responses.interrupt(),
            Event::Cancelled(_) | Event::Unknown(_) | Event::Error(_) => {}
            output => responses.open(agent).record(output),
        }
    }

    /// Ends the response if all events of a message have been recorded and it is complete.
    pub(crate) fn end_message(&mut self) {
        // Gemini ends a response with calls by its usage. The next response begins with the results.
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
    }

    /// Ends the conversation, with the error if it failed.
    pub(crate) fn close(self, error: Option<&ToolError>) {
        let Self { responses, agent } = self;
        drop(responses);
        match error {
            Some(error) => agent.fail_with(error),
            None => agent.end(),
        }
    }
}

impl ResponseSpans {
    fn open(&mut self, agent: &SpanHandle) -> &mut OpenResponse {
        let Self { info, model, open, .. } = self;
        open.get_or_insert_with(|| {
            let span = agent.run(|| SpanHandle::open_if_wanted(SpanKind::Llm, model.clone()));
            let mut used = ModelUsage::new(model.clone(), TokenUsage::default());
            if span.is_open() {
                used.provider.clone_from(&info.provider);
            }
            OpenResponse { span, used, has_usage: false, was_stopped: false, end: None }
        })
    }

    fn record_usage(&mut self, usage: TokenUsage, agent: &SpanHandle) {
        if let Some(response) = &mut self.open {
            (response.used.usage, response.has_usage) = (usage, true);
        } else if !self.has_reported_usage {
            // The usage of a response whose span has ended without it.
            self.has_reported_usage = true;
            if agent.is_open() {
                let mut used = ModelUsage::new(self.info.model.clone(), usage);
                used.provider.clone_from(&self.info.provider);
                agent.run(|| trace::record(used));
            }
        }
    }

    fn interrupt(&mut self) {
        if let Some(response) = &mut self.open {
            response.was_stopped = self.interruption_ends_response;
        }
    }

    fn finish(&mut self, finish: &Finish) {
        let Some(response) = &mut self.open else { return };
        response.end = Some(match finish {
            _ if response.was_stopped => ResponseEnd::Stopped,
            Finish::Other(reason) if reason == "cancelled" => ResponseEnd::Stopped,
            Finish::Other(reason) if reason == "failed" => ResponseEnd::Failed("provider"),
            _ => ResponseEnd::Complete,
        });
    }

    /// Ends the span of the open response. Its own end takes precedence over the given one.
    fn close(&mut self, end: ResponseEnd) {
        let Some(response) = self.open.take() else { return };
        self.has_reported_usage = response.has_usage;
        if response.has_usage && response.span.is_open() {
            response.span.run(|| trace::record(response.used));
        }
        match response.end.unwrap_or(end) {
            ResponseEnd::Complete => response.span.end(),
            ResponseEnd::Stopped => drop(response.span),
            ResponseEnd::Failed(kind) => response.span.fail(kind),
        }
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
            Event::Call(call) => self.used.tool_calls.push((call.id().to_owned(), call.name().to_owned())),
            _ => {}
        }
    }
}
