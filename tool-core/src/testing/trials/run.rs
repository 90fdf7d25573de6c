//! One run of a trial.

use crate::call::{ErrorKind, ToolError};
use crate::session::{
    History, Message, Model, ModelInfo, ModelRequest, ModelStep, Reply, ReplyFinish, Session,
};
use crate::testing::trials::answer_check::shown;
use crate::testing::trials::expected_calls::MadeCall;
use crate::testing::trials::outcome::TrialRun;
use crate::testing::trials::trial::Trial;
use crate::text::of_panic;
use crate::trace::{self, Collector, Cost, TokenUsage};
use futures_util::FutureExt;
use std::any::Any;
use std::borrow::Cow;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

/// The end of a conversation.
enum Ending {
    Reply(Box<Reply>),
    TimedOut,
    Panicked(String),
}

/// Asks the model once, and compares what it did with what is expected.
pub(crate) async fn run_once<M: Model>(
    trial: &Trial,
    session: &Session,
    number: u32,
    model: impl FnOnce() -> M,
) -> TrialRun {
    let began = Instant::now();
    let collector = match &trial.pricing {
        None => Collector::builder().keep(0),
        Some(pricing) => Collector::builder().keep(0).pricing(pricing.clone()),
    };
    let collector = collector.build();
    let mut history = History::new();
    let ending = match catch_unwind(AssertUnwindSafe(model)) {
        Err(panic) => Ending::Panicked(of_panic(panic)),
        Ok(model) => {
            // Futures inside each other are deep for the compiler, and the caller has its own.
            let asking = Box::pin(ask(trial, session, model, &mut history));
            let asking = trace::agent(trial.name.clone(), asking);
            collector.run(asking).await
        }
    };

    let reply = match &ending {
        Ending::Reply(reply) => Some(&**reply),
        Ending::TimedOut | Ending::Panicked(_) => None,
    };
    let calls = calls_of(&history, reply);
    let mut problems = problems_of_ending(&ending, trial);
    problems.extend(trial.expected.problems(&calls, session));
    if let Some(reply) = reply {
        let answer = reply.text.as_deref().unwrap_or_default();
        let checks = trial.checks.iter();
        problems.extend(checks.filter_map(|check| check.problem(answer)));
    }
    TrialRun {
        number,
        problems,
        calls: calls.iter().map(MadeCall::shown).collect(),
        answer: reply.and_then(|reply| reply.text.clone()),
        usage: reply.map_or_else(TokenUsage::default, |reply| reply.usage),
        cost: cost_of(&collector),
        duration: began.elapsed(),
    }
}

/// Asks the model, for the time that a run may take.
async fn ask<M: Model>(
    trial: &Trial,
    session: &Session,
    model: M,
    history: &mut History,
) -> Ending {
    let mut model = InstructedModel {
        model,
        instructions: &trial.instructions,
    };
    let reply = session.reply(&mut model, history, trial.prompt.clone());
    let reply = AssertUnwindSafe(reply).catch_unwind();
    let reply = match trial.time_limit {
        None => reply.await,
        Some(limit) => match tokio::time::timeout(limit, reply).await {
            Ok(reply) => reply,
            Err(_) => return Ending::TimedOut,
        },
    };
    reply.map_or_else(of_unwind, |reply| Ending::Reply(Box::new(reply)))
}

fn of_unwind(panic: Box<dyn Any + Send>) -> Ending {
    Ending::Panicked(of_panic(panic))
}

fn problems_of_ending(ending: &Ending, trial: &Trial) -> Vec<String> {
    let reply = match ending {
        Ending::Reply(reply) => reply,
        Ending::TimedOut => {
            let limit = trial.time_limit.unwrap_or_default();
            return vec![format!(
                "the run took longer than its time limit of {limit:?}"
            )];
        }
        Ending::Panicked(message) => {
            return vec![format!("the model panicked: {}", shown(message))];
        }
    };
    if let Some(error) = &reply.error {
        let message = shown(&error.message);
        return vec![format!("the model failed: {}: {message}", error.kind)];
    }
    let reason = match reply.finish {
        ReplyFinish::Complete => return Vec::new(),
        ReplyFinish::Length => "it reached its limit of tokens",
        ReplyFinish::Withheld => "the provider withheld it",
        ReplyFinish::Refused => "the model refused",
        ReplyFinish::Blocked => "a guard refused the message or the answer",
        ReplyFinish::StepLimit => "the model had as many steps as the policy allows",
        ReplyFinish::Budget => "a budget of the session is used up",
        ReplyFinish::Paused => "the provider paused it too often",
        ReplyFinish::Interrupted => "the turn was interrupted",
        ReplyFinish::Failed => "the model failed",
    };
    vec![format!("the answer is not complete: {reason}")]
}

/// Returns the calls of a conversation, in order.
fn calls_of(history: &History, reply: Option<&Reply>) -> Vec<MadeCall> {
    let mut refusals = HashMap::new();
    for response in reply.iter().flat_map(|reply| &reply.responses) {
        let refused = response
            .error()
            .filter(|error| matches!(error.kind, ErrorKind::Validation | ErrorKind::NotFound));
        if let (Some(call), Some(error)) = (response.meta().call_id(), refused) {
            refusals.insert(call, &error.message);
        }
    }
    let mut made = Vec::new();
    for message in history.messages() {
        let Message::Assistant { calls, .. } = message else {
            continue;
        };
        for call in calls {
            made.push(MadeCall {
                tool: call.name().to_owned(),
                arguments: call.arguments().to_owned(),
                refusal: refusals.get(call.id()).map(|text| (*text).clone()),
            });
        }
    }
    made
}

/// Returns the cost of a run; `None` if a price is not known.
fn cost_of(collector: &Collector) -> Option<Cost> {
    let total = collector.totals().total;
    (total.uses > 0 && total.unpriced == 0).then_some(total.cost)
}

/// A model with the instructions of a trial.
struct InstructedModel<'a, M> {
    model: M,
    instructions: &'a str,
}

impl<M: Model> Model for InstructedModel<'_, M> {
    async fn step(&mut self, request: ModelRequest<'_>) -> Result<ModelStep, ToolError> {
        let instructions = match (self.instructions, request.instructions) {
            ("", text) | (text, "") => Cow::Borrowed(text),
            (own, tools) => Cow::Owned(format!("{own}\n\n{tools}")),
        };
        let request = ModelRequest {
            instructions: &instructions,
            ..request
        };
        self.model.step(request).await
    }

    async fn prepare(&mut self, history: &mut History) {
        self.model.prepare(history).await;
    }

    fn take_failed_usage(&mut self) -> TokenUsage {
        self.model.take_failed_usage()
    }

    fn has_shown_output(&self) -> bool {
        self.model.has_shown_output()
    }

    fn about(&self) -> ModelInfo {
        self.model.about()
    }
}
