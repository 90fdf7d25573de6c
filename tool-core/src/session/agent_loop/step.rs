//! The calls of one step: their ids, and that each gets one result, whatever becomes of the step.

use crate::call::error::{ErrorKind, ToolError};
use crate::call::meta::Slim;
use crate::call::output::OutputKind;
use crate::call::response::ToolResponse;
use crate::call::tool_call::ToolCall;
use crate::session::agent_loop::Caller;
use crate::session::agent_loop::history::{History, Message, RawTurn};
use crate::tool::definition::ToolDefinition;
use std::time::Duration;

/// What a model called, while it runs. However it ends, when it is dropped the history has the step: the calls in
/// their canonical form, and one result for each. L22, L29
pub(crate) struct OpenStep<'a, C: Caller> {
    session: &'a C,
    history: &'a mut History,
    tools: &'a [ToolDefinition],
    text: Option<String>,
    native: Option<RawTurn>,
    /// With ids that differ.
    calls: Vec<ToolCall>,
    answers: Vec<Option<ToolResponse>>,
}

/// What a model said and called.
pub(crate) struct Step {
    pub(crate) text: Option<String>,
    pub(crate) calls: Vec<ToolCall>,
    pub(crate) native: Option<RawTurn>,
}

/// Runs the calls of a step and puts them into the history: the answers, in the order of the calls.
pub(crate) async fn run<C: Caller>(
    session: &C,
    history: &mut History,
    tools: &[ToolDefinition],
    step: Step,
) -> Vec<ToolResponse> {
    let Step { text, calls, native } = step;
    let calls = identified(history, calls);
    let distinct = distinct(&calls);
    // Its items are the calls, one for one, or it is of no use.
    let native = native.filter(|_| distinct.len() == calls.len());
    let answers = vec![None; distinct.len()];
    let mut open = OpenStep { session, history, tools, text, native, calls: distinct, answers };
    session.run(calls, &mut |response| open.answer(response)).await;
    open.close()
}

impl<C: Caller> OpenStep<'_, C> {
    /// Takes the answer to one of the calls. The first counts.
    fn answer(&mut self, response: ToolResponse) {
        let id = response.meta().call_id();
        let asked = self.calls.iter().position(|call| Some(call.id()) == id);
        if let Some(slot @ None) = asked.and_then(|at| self.answers.get_mut(at)) {
            *slot = Some(response);
        }
    }

    /// A call as it goes back into the history. What was refused for its text or its name stands there as it was sent,
    /// so that the model finds what its error speaks of. L29
    fn told(&self, call: &ToolCall, answer: Option<&ToolResponse>) -> ToolCall {
        match answer.and_then(ToolResponse::error).map(|error| error.kind) {
            Some(ErrorKind::Validation | ErrorKind::NotFound) => call.clone(),
            _ => ToolCall::new(call.id(), call.name(), self.session.canonical(call)),
        }
    }

    /// The answers, in the order of the calls.
    fn close(mut self) -> Vec<ToolResponse> {
        self.write();
        std::mem::take(&mut self.answers).into_iter().flatten().collect()
    }

    /// Puts the step into the history, once.
    fn write(&mut self) {
        let calls = std::mem::take(&mut self.calls);
        if calls.is_empty() {
            return;
        }
        let answered = calls.iter().zip(&self.answers);
        let told = answered.clone().map(|(call, answer)| self.told(call, answer.as_ref())).collect();
        self.history.push(Message::Assistant { text: self.text.take(), calls: told, native: self.native.take() });
        for (call, answer) in answered {
            match answer {
                Some(response) => self.history.answer(call, response),
                None => self.history.answer(call, &cancelled(call, self.tools)),
            }
        }
    }
}

impl<C: Caller> Drop for OpenStep<'_, C> {
    fn drop(&mut self) {
        self.write();
    }
}

/// The calls with an id each that no call before this step has: some providers give none, others the same ones again.
fn identified(history: &History, calls: Vec<ToolCall>) -> Vec<ToolCall> {
    let mut all = calls;
    for at in 0..all.len() {
        let Some(call) = all.get(at).filter(|call| call.id().is_empty() || history.knows(call.id())) else { continue };
        let named = ToolCall::new(history.fresh_id(&all), call.name(), call.arguments());
        if let Some(slot) = all.get_mut(at) {
            *slot = named;
        }
    }
    all
}

/// The first call of each id.
fn distinct(calls: &[ToolCall]) -> Vec<ToolCall> {
    let mut first = Vec::<ToolCall>::with_capacity(calls.len());
    for call in calls {
        if first.iter().all(|known| known.id() != call.id()) {
            first.push(call.clone());
        }
    }
    first
}

/// The answer to a call for whose end nobody waited. R-E3
#[cold]
fn cancelled(call: &ToolCall, tools: &[ToolDefinition]) -> ToolResponse {
    let tool = tools.iter().find(|tool| tool.name() == call.name());
    let harmless = tool.is_some_and(|tool| tool.body.harmless());
    let message = if harmless {
        "The call was cancelled: the turn was interrupted before it ended."
    } else {
        "The call was cancelled: the turn was interrupted before it ended, and it may have taken effect."
    };
    let error = ToolError::new(ErrorKind::Cancelled, message, false).unexpected();
    let slim = Slim {
        tool: call.name().to_owned().into(),
        call_id: Some(call.id().into()),
        duration: Duration::ZERO,
        rare: None,
    };
    ToolResponse { body: Err(Box::new(error.into_body(call.name(), harmless))), form: OutputKind::Data, slim }
}
