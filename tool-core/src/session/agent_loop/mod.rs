//! The agent loop: asks a model, runs what it calls, and asks again, until it has said its say.

pub(crate) mod history;
pub(crate) mod model;
pub(crate) mod step;

use crate::call::error::ToolError;
use crate::call::meta::Confirmation;
use crate::call::output::OutputKind;
use crate::call::response::ToolResponse;
use crate::call::tool_call::ToolCall;
use crate::session::agent_loop::history::{History, Message};
use crate::session::agent_loop::model::{Model, ModelRequest, ModelStep, ToolChoice};
use crate::session::agent_loop::step::Step;
use crate::session::pipeline::canonical_of_sent;
use crate::session::session::Session;
use crate::tool::definition::ToolDefinition;
use crate::tool::dispatch;
use crate::tool::provider::ProviderTool;
use crate::trace;
use crate::trace::cost::TokenUsage;
use crate::trace::span;
use futures_util::future::join_all;
use std::sync::{Arc, Mutex, PoisonError};

/// What came of asking a model.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
#[must_use]
pub struct Reply {
    /// What the model said in the end. None where a tool wanted no reply, where the turn was interrupted, where the
    /// model had nothing to say, and where it failed.
    pub text: Option<String>,
    /// The steps in which tools were called.
    pub steps: u32,
    /// The answers to all calls, in their order. What a person has to approve is in their `meta`.
    pub responses: Vec<ToolResponse>,
    /// Whether the turn was interrupted, or the session ended, before the model had replied.
    pub interrupted: bool,
    /// What all steps have used.
    pub usage: TokenUsage,
    /// Why the model could not be asked to the end. What had run by then has run: its answers are here and in the
    /// history.
    pub error: Option<ToolError>,
}

impl Reply {
    /// What a person has to approve or deny: all of it, in the order of the calls.
    pub fn confirmations(&self) -> impl Iterator<Item = &Confirmation> {
        self.responses.iter().filter_map(|response| response.meta().confirmation())
    }
}

/// Where an answer goes as soon as it is there.
pub(crate) type Sink<'a> = &'a mut (dyn FnMut(ToolResponse) + Send);

/// What the loop needs of a session.
pub(crate) trait Caller: Sync {
    /// The system instruction.
    fn instructions(&self) -> String;

    /// The tools that the model is shown.
    fn tools(&self, start: Start) -> Vec<ToolDefinition>;

    /// The tools that providers run.
    fn provider_tools(&self) -> &[Arc<dyn ProviderTool>];

    /// The steps of calls that a reply may take.
    fn max_tool_steps(&self) -> u32;

    /// How often the session was interrupted.
    fn interruptions(&self) -> u64;

    /// What a step has used is known. R-M4
    fn used(&self, _: TokenUsage) {}

    /// The canonical form of arguments. L29
    fn canonical(&self, call: &ToolCall) -> String;

    /// Runs calls, all of which have an id. Each answer goes to the sink when it is there, so that it is known where
    /// nobody waits for the others.
    fn run(&self, calls: Vec<ToolCall>, sink: Sink<'_>) -> impl Future<Output = ()> + Send;
}

/// Asks `model` until it has replied. L21, L22
pub(crate) async fn reply<C: Caller, M: Model>(
    session: &C,
    model: &mut M,
    history: &mut History,
    text: String,
    start: Start,
) -> Reply {
    let (instructions, tools) = (session.instructions(), session.tools(start));
    let (before, steps) = (session.interruptions(), session.max_tool_steps());
    let mut reply = Reply::default();
    if !text.is_empty() {
        history.push(Message::User(text));
    }
    loop {
        let tool_choice = choice(reply.steps, steps, start);
        let request = ModelRequest {
            instructions: &instructions,
            history: history.messages(),
            tools: &tools,
            provider_tools: session.provider_tools(),
            tool_choice,
        };
        let answer = asked(model, request).await;
        if let Ok(step) = &answer {
            reply.usage += step.usage;
            session.used(step.usage);
        }
        let step = match answer {
            _ if session.interruptions() != before => return Reply { interrupted: true, ..reply },
            Ok(step) => step,
            Err(error) => return Reply { error: Some(error), ..reply },
        };
        let text = step.text.filter(|text| !text.is_empty());
        // L19: without a choice there are no calls, not even refused ones.
        if step.calls.is_empty() || tool_choice == ToolChoice::None {
            // L22: what it called nevertheless is dropped from the history too, and its own form holds it.
            let native = step.native.filter(|_| step.calls.is_empty());
            if text.is_some() || native.is_some() {
                history.push(Message::Assistant { text: text.clone(), calls: Vec::new(), native });
            }
            return Reply { text, ..reply };
        }
        let responses =
            step::run(session, history, &tools, Step { text, calls: step.calls, native: step.native }).await;
        let stopped = !responses.is_empty() && responses.iter().all(wants_no_reply);
        reply.steps += 1;
        reply.responses.extend(responses);
        reply.interrupted = session.interruptions() != before;
        if stopped || reply.interrupted {
            return reply;
        }
    }
}

/// Asks a model, in a span of its own that has what it used.
pub(crate) async fn asked<M: Model>(model: &mut M, request: ModelRequest<'_>) -> Result<ModelStep, ToolError> {
    if !span::is_wanted() {
        return model.step(request).await;
    }
    let about = model.about();
    let asking = async {
        if let Some(provider) = &about.provider {
            trace::attribute("gen_ai.provider.name", &**provider);
        }
        let step = model.step(request).await?;
        trace::record(step.used(&about));
        Ok(step)
    };
    Box::pin(dispatch::of_question(about.model.clone(), asking)).await
}

/// How a reply begins.
#[derive(Clone, Copy)]
pub(crate) enum Start {
    /// With what the first step may call.
    Asked(ToolChoice),
    /// By the agent itself, as it enters the conversation. L15
    Entering,
}

/// Whether the model may call tools, after so many steps. L21
fn choice(taken: u32, allowed: u32, start: Start) -> ToolChoice {
    match (taken, start) {
        (taken, _) if taken >= allowed => ToolChoice::None,
        (0, Start::Asked(first)) => first,
        _ => ToolChoice::Auto,
    }
}

/// L18
fn wants_no_reply(response: &ToolResponse) -> bool {
    response.is_ok() && response.form() == OutputKind::Stop
}

// ---- The loop, over a session.

impl Session {
    /// Lets `model` reply to `text`: it is asked, what it calls is run, and it is asked again, for at most
    /// [`max_tool_steps`](crate::Policy::max_tool_steps) steps of calls; then it has to say something without. L21
    ///
    /// The reply is part of the current turn: [`next_turn`](Self::next_turn) begins another. An empty `text` adds no
    /// message. A tool that wants no reply ends it after its step, [`interrupt`](Self::interrupt) too; and whoever has
    /// heard enough drops the future. Whatever happens, the history has exactly one result for each call: those that
    /// ended, and CANCELLED for the rest. L22
    ///
    /// ```
    /// use serde_json::json;
    /// use tool_core::session::History;
    /// use tool_core::testing::ScriptedModel;
    /// use tool_core::{Mode, Policy, Runtime, ToolCall, ToolContext, tool};
    ///
    /// /// Add two numbers.
    /// #[tool]
    /// fn add(a: i64, b: i64) -> i64 {
    ///     a + b
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let tools = ToolContext::builder().with(add).build()?;
    /// let runtime = Runtime::builder(tools).policy(Policy::text()).build()?;
    /// let session = runtime.session("s-1", Mode::Text).await?;
    ///
    /// let mut model = ScriptedModel::new().calls([ToolCall::new("call_1", "add", json!({"a": 1, "b": 2}))]).says("3");
    /// let mut history = History::new();
    /// let reply = session.reply(&mut model, &mut history, "What is 1 + 2?").await;
    ///
    /// assert_eq!(reply.text.as_deref(), Some("3"));
    /// assert_eq!(reply.responses[0].data_json(), Some("3"));
    /// assert_eq!(history.messages().len(), 4);
    /// # Ok(())
    /// # }
    /// ```
    pub fn reply<M: Model>(
        &self,
        model: &mut M,
        history: &mut History,
        text: impl Into<String>,
    ) -> impl Future<Output = Reply> + Send {
        self.reply_with(model, history, text, ToolChoice::Auto)
    }

    /// Like [`reply`](Self::reply), but says whether the first step may or has to call tools. Those after it may.
    pub fn reply_with<M: Model>(
        &self,
        model: &mut M,
        history: &mut History,
        text: impl Into<String>,
        first: ToolChoice,
    ) -> impl Future<Output = Reply> + Send {
        reply(self, model, history, text.into(), Start::Asked(first))
    }

    /// Lets `model` speak first, as the agent enters the conversation: tools that are `ignore_on_enter` are not shown
    /// to it. L15
    pub fn reply_on_enter<M: Model>(&self, model: &mut M, history: &mut History) -> impl Future<Output = Reply> + Send {
        reply(self, model, history, String::new(), Start::Entering)
    }
}

impl Caller for Session {
    fn instructions(&self) -> String {
        self.instructions()
    }

    fn tools(&self, start: Start) -> Vec<ToolDefinition> {
        let mut shown = self.definitions();
        if matches!(start, Start::Entering) {
            shown.retain(|tool| !tool.flags().ignore_on_enter);
        }
        shown
    }

    fn provider_tools(&self) -> &[Arc<dyn ProviderTool>] {
        Self::tools(self).provider_tools()
    }

    fn max_tool_steps(&self) -> u32 {
        self.policy().max_tool_steps
    }

    fn interruptions(&self) -> u64 {
        self.0.running.epoch()
    }

    fn used(&self, usage: TokenUsage) {
        // Where a provider does not tell, nothing is known.
        if usage.input > 0 {
            self.observe_context(usage.input);
        }
    }

    fn canonical(&self, call: &ToolCall) -> String {
        match Self::tools(self).function_tool(call.name()) {
            Some(tool) => canonical_of_sent(&self.0, tool, call.arguments()),
            None => call.arguments().to_owned(),
        }
    }

    async fn run(&self, calls: Vec<ToolCall>, sink: Sink<'_>) {
        let sink = Mutex::new(sink);
        let answered = by_id(calls).into_iter().map(async |calls| {
            for response in self.call_all(calls).await {
                sink.lock().unwrap_or_else(PoisonError::into_inner)(response);
            }
        });
        join_all(answered).await;
    }
}

/// The calls of each id by themselves, so that each is known when it has ended.
fn by_id(calls: Vec<ToolCall>) -> Vec<Vec<ToolCall>> {
    let mut groups = Vec::<Vec<ToolCall>>::new();
    for call in calls {
        match groups.iter_mut().find(|group| group.iter().any(|other| other.id() == call.id())) {
            Some(group) => group.push(call),
            None => groups.push(vec![call]),
        }
    }
    groups
}
