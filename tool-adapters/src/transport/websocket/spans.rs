//! The spans of a live conversation: the agent's, from its beginning to its end, and in it one for each response of the
//! model. Calls stand beside the responses, as they may outlast them.

use crate::agent::about;
use crate::providers::event::{Event, Finish};
use crate::transport::websocket::LiveModel;
use crate::transport::websocket::connect::live;
use std::borrow::Cow;
use std::sync::LazyLock;
use tool_core::session::ModelInfo;
use tool_core::trace::{ModelUsage, SpanHandle, SpanKind, TokenUsage};
use tool_core::{ToolError, trace};

pub(crate) struct Spans {
    /// Closed before the span that it is in.
    responses: Responses,
    agent: SpanHandle,
}

struct Responses {
    /// Asked of price tables once, and only where there is a span.
    about: LazyLock<ModelInfo, Box<dyn FnOnce() -> ModelInfo + Send>>,
    model: Cow<'static, str>,
    /// Whether an interruption means that the response is stopped. OpenAI says so at its end, or goes on.
    stops: bool,
    open: Option<Response>,
    /// Whether the response before has said what it used: what comes after it says the same once more.
    told: bool,
}

/// What the model says, until it has said it all.
struct Response {
    span: SpanHandle,
    used: ModelUsage,
    told: bool,
    stopped: bool,
    ended: Option<Ended>,
}

#[derive(Clone, Copy)]
enum Ended {
    Whole,
    Stopped,
    Failed(&'static str),
}

impl Spans {
    /// In the span that the thread is in.
    pub(crate) fn open(model: &LiveModel) -> Self {
        let (provider, named, base) = (model.provider, model.model.clone(), model.base_url.clone());
        let responses = Responses {
            about: LazyLock::new(Box::new(move || about(provider, &named, base.as_deref().unwrap_or_default()))),
            model: model.model.clone().into(),
            stops: live(model.provider).is_some_and(|live| live.interruption_ends_response),
            open: None,
            told: false,
        };
        let agent = match &model.name {
            Some(name) => SpanHandle::open(SpanKind::Agent, name.clone()),
            None => SpanHandle::open_if_wanted(SpanKind::Agent, "agent"),
        };
        Self { responses, agent }
    }

    /// Where calls belong.
    pub(crate) fn agent(&self) -> &SpanHandle {
        &self.agent
    }

    /// What the model says and does.
    pub(crate) fn event(&mut self, event: &Event) {
        let Self { responses, agent } = self;
        match event {
            Event::Usage(usage) => responses.usage(*usage, agent),
            Event::Finished(finish) => responses.finished(finish),
            Event::Interrupted => responses.interrupted(),
            Event::Cancelled(_) | Event::Unknown(_) | Event::Error(_) => {}
            said => responses.open(agent).says(said),
        }
    }

    /// The message is over that brought the events.
    pub(crate) fn message_over(&mut self) {
        // Gemini's response that calls is over with its usage: the next one begins with the results.
        let is_over =
            |response: &Response| response.ended.is_some() || (response.told && !response.used.tool_calls.is_empty());
        if self.responses.open.as_ref().is_some_and(is_over) {
            self.responses.close(Ended::Whole);
        }
    }

    /// The connection is lost, and with it what the model was saying.
    pub(crate) fn lost(&mut self) {
        self.responses.close(Ended::Failed("connection"));
    }

    /// The conversation is over; `error`: why it cannot go on.
    pub(crate) fn close(self, error: Option<&ToolError>) {
        let Self { responses, agent } = self;
        drop(responses);
        match error {
            Some(error) => agent.fail_with(error),
            None => agent.end(),
        }
    }
}

impl Responses {
    fn used(&self, usage: TokenUsage) -> ModelUsage {
        let mut used = ModelUsage::new(self.about.model.clone(), usage);
        used.provider.clone_from(&self.about.provider);
        used
    }

    fn open(&mut self, agent: &SpanHandle) -> &mut Response {
        let Self { about, model, open, .. } = self;
        open.get_or_insert_with(|| {
            let span = agent.run(|| SpanHandle::open_if_wanted(SpanKind::Llm, model.clone()));
            let mut used = ModelUsage::new(model.clone(), TokenUsage::default());
            if span.is_open() {
                used.provider.clone_from(&about.provider);
            }
            Response { span, used, told: false, stopped: false, ended: None }
        })
    }

    fn usage(&mut self, usage: TokenUsage, agent: &SpanHandle) {
        if let Some(response) = &mut self.open {
            (response.used.usage, response.told) = (usage, true);
        } else if !self.told {
            // Of a response that had not said it. Its span is closed, the agent's is not.
            self.told = true;
            if agent.is_open() {
                agent.run(|| trace::record(self.used(usage)));
            }
        }
    }

    fn interrupted(&mut self) {
        if let Some(response) = &mut self.open {
            response.stopped = self.stops;
        }
    }

    fn finished(&mut self, finish: &Finish) {
        let Some(response) = &mut self.open else { return };
        response.ended = Some(match finish {
            _ if response.stopped => Ended::Stopped,
            Finish::Other(why) if why == "cancelled" => Ended::Stopped,
            Finish::Other(why) if why == "failed" => Ended::Failed("provider"),
            _ => Ended::Whole,
        });
    }

    fn close(&mut self, unless_ended: Ended) {
        let Some(Response { span, used, told, ended, .. }) = self.open.take() else { return };
        self.told = told;
        if told && span.is_open() {
            span.run(|| trace::record(used));
        }
        match ended.unwrap_or(unless_ended) {
            Ended::Whole => span.end(),
            Ended::Stopped => drop(span),
            Ended::Failed(kind) => span.fail(kind),
        }
    }
}

impl Drop for Responses {
    /// Nobody listens any longer.
    fn drop(&mut self) {
        self.close(Ended::Stopped);
    }
}

impl Response {
    fn says(&mut self, event: &Event) {
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
