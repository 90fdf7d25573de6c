//! The agent loop: asks a model, runs what it calls, and asks again, until it has said its say.

mod history;
mod model;
mod session;
mod step;

#[cfg(test)]
mod tests;

pub use crate::trace::Usage;
pub use history::{History, Message, Native};
pub use model::{AboutModel, Model, ModelRequest, ModelStep, ToolChoice};

use crate::call::ToolCall;
use crate::response::{Confirmation, Form, ToolError, ToolResponse};
use crate::tool::{ProviderTool, ToolDefinition};
use crate::trace;
use std::sync::Arc;
use step::Step;

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
    pub usage: Usage,
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
type Sink<'a> = &'a mut (dyn FnMut(ToolResponse) + Send);

/// What the loop needs of a session.
trait Caller: Sync {
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
    fn used(&self, _: Usage) {}

    /// The canonical form of arguments. L29
    fn canonical(&self, call: &ToolCall) -> String;

    /// Runs calls, all of which have an id. Each answer goes to the sink when it is there, so that it is known where
    /// nobody waits for the others.
    fn run(&self, calls: Vec<ToolCall>, sink: Sink<'_>) -> impl Future<Output = ()> + Send;
}

/// Asks `model` until it has replied. L21, L22
async fn reply<C: Caller, M: Model>(
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
async fn asked<M: Model>(model: &mut M, request: ModelRequest<'_>) -> Result<ModelStep, ToolError> {
    if !trace::is_wanted() {
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
    Box::pin(trace::of_question(about.model.clone(), asking)).await
}

/// How a reply begins.
#[derive(Clone, Copy)]
enum Start {
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
    response.is_ok() && response.form() == Form::Stop
}
