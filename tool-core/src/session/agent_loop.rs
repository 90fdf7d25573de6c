//! The agent loop: asks a model, runs what it calls, and asks again until it has replied.

use crate::call::{Confirmation, ErrorKind, OutputKind, ToolCall, ToolError, ToolResponse};
use crate::session::approvals::without_notes;
use crate::session::inner::SessionInner;
use crate::session::model::{History, Message, Model, ModelRequest, ModelStep, RawTurn, ToolChoice};
use crate::session::pipeline::call::{distinct_calls, run_step};
use crate::session::pipeline::cx::canonical_sent_arguments;
use crate::session::typed_answer::{AnswerForm, AnswerVerdict};
use crate::time::CallInstant;
use crate::tool::{ToolDefinition, spans};
use crate::trace::{self, TokenUsage, span};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use std::collections::HashSet;
use std::sync::Arc;

/// The outcome of asking a model.
///
/// ```
/// use tool_core::session::{History, Model, ModelRequest, ModelStep};
/// use tool_core::{Mode, Runtime, ToolCall, ToolContext, ToolError, tool};
///
/// /// Add two numbers.
/// #[tool]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// /// Calls a tool, and then answers.
/// struct Calculator;
///
/// impl Model for Calculator {
///     async fn step(&mut self, request: ModelRequest<'_>) -> Result<ModelStep, ToolError> {
///         let call = ToolCall::new("call_1", "add", r#"{"a": 1, "b": 2}"#);
///         Ok(if request.history.len() == 1 { ModelStep::calls([call]) } else { ModelStep::says("It is 3.") })
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let runtime = Runtime::builder(ToolContext::builder().with(add).build()?).build()?;
/// let session = runtime.session("s-1", Mode::Text).await?;
/// let reply = session.reply(&mut Calculator, &mut History::new(), "1 + 2?").await;
/// assert_eq!((reply.text.as_deref(), reply.steps), (Some("It is 3."), 1));
/// assert_eq!(reply.responses[0].data_json(), Some("3"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
#[must_use]
pub struct Reply {
    /// The final text of the model. `None` if a tool wanted no reply, the turn was interrupted, the model had nothing to
    /// say, or it failed.
    pub text: Option<String>,
    /// The number of steps in which tools were called.
    pub steps: u32,
    /// The responses to all calls, in order. Calls that wait for approval carry a confirmation in their `meta`. The results of
    /// calls that have ended in the background are among them.
    pub responses: Vec<ToolResponse>,
    /// True if the turn was interrupted or the session ended before the model had replied.
    pub interrupted: bool,
    /// The tokens that all steps have used.
    pub usage: TokenUsage,
    /// The model's error. Calls that ran before it have run: their responses are here and in the history.
    pub error: Option<ToolError>,
}

impl Reply {
    /// Returns the confirmations that await a person's decision, in the order of the calls.
    pub fn confirmations(&self) -> impl Iterator<Item = &Confirmation> {
        self.responses.iter().flat_map(|response| response.meta().confirmations())
    }
}

/// Asks `model` until it has replied. `entering` hides the tools that are `ignore_on_enter`, and `first` is the tool choice of
/// the first step. A `form` makes the answer typed.
pub(crate) async fn reply<M: Model>(
    session: &Arc<SessionInner>,
    model: &mut M,
    history: &mut History,
    text: String,
    (entering, first): (bool, ToolChoice),
    mut form: Option<&mut AnswerForm>,
) -> Reply {
    let mut declared = DeclaredTools::new(session, entering, form.as_deref());
    let (interruptions, max_steps) = (session.running.epoch(), session.policy().max_tool_steps);
    let mut reply = Reply::default();
    note_background_answers(session, history, &mut reply);
    if !text.is_empty() {
        history.push(Message::User(without_notes(text)));
    }
    loop {
        note_background_answers(session, history, &mut reply);
        let may_call = reply.steps < max_steps;
        let tool_choice = match (&form, reply.steps) {
            // The answer is a call too.
            (Some(form), _) if !may_call || form.requires_call => ToolChoice::Required,
            (None, _) if !may_call => ToolChoice::None,
            (_, 0) => first,
            _ => ToolChoice::Auto,
        };
        let request = ModelRequest {
            instructions: &declared.instructions,
            history: history.messages(),
            tools: &declared.tools,
            searchable: &declared.searchable,
            provider_tools: session.tools.context.provider_tools(),
            tool_choice,
        };
        let answer = ask(model, request).await;
        if let Ok(step) = &answer {
            reply.usage += step.usage;
            // Some providers report no usage.
            if step.usage.input > 0 {
                session.observe_context(step.usage.input);
            }
        }
        let mut step = match answer {
            _ if session.running.epoch() != interruptions => return Reply { interrupted: true, ..reply },
            Ok(step) => step,
            Err(error) => return Reply { error: Some(error), ..reply },
        };
        step.text = step.text.filter(|text| !text.is_empty());
        step.native = step.native.and_then(RawTurn::unless_too_deep);
        if let Some(form) = form.as_deref_mut() {
            match form.read(&mut step, history, may_call).await {
                AnswerVerdict::CallsTools => {}
                AnswerVerdict::AskAgain => continue,
                AnswerVerdict::Over => return Reply { text: step.text, ..reply },
            }
        }
        // Under `ToolChoice::None`, calls are ignored and not answered.
        if step.calls.is_empty() || tool_choice == ToolChoice::None {
            // The provider's raw turn would bring ignored calls into the history.
            let native = step.native.filter(|_| step.calls.is_empty());
            if step.text.is_some() || native.is_some() {
                history.push(Message::Assistant { text: step.text.clone(), calls: Vec::new(), native });
            }
            return Reply { text: step.text, ..reply };
        }
        let responses = OpenStep::run(session, history, step).await;
        let wants_no_reply = |response: &ToolResponse| response.is_ok() && response.kind() == OutputKind::Stop;
        let stopped = !responses.is_empty() && responses.iter().all(wants_no_reply);
        reply.steps += 1;
        reply.responses.extend(responses);
        reply.interrupted = session.running.epoch() != interruptions;
        if stopped || reply.interrupted {
            return reply;
        }
        if session.tools.search.is_some() {
            // The calls may have found tools.
            declared = DeclaredTools::new(session, entering, form.as_deref());
        }
    }
}

/// Tells the model of the calls that go on in the background, by notes in the history. Those that have ended are answered with
/// the reply.
fn note_background_answers(session: &SessionInner, history: &mut History, reply: &mut Reply) {
    for answer in session.background().into_iter().flat_map(|answers| answers.take()) {
        history.extend(answer.note().map(Message::User));
        if answer.is_end {
            reply.responses.push(answer.response);
        }
    }
}

/// The tools of a session as the model sees them.
struct DeclaredTools {
    instructions: String,
    tools: Vec<ToolDefinition>,
    searchable: Vec<ToolDefinition>,
}

impl DeclaredTools {
    fn new(session: &SessionInner, entering: bool, form: Option<&AnswerForm>) -> Self {
        let is_shown = |tool: &ToolDefinition| !(entering && tool.flags().ignore_on_enter);
        let (mut tools, mut searchable) = (session.definitions(), session.searchable_definitions());
        tools.retain(is_shown);
        searchable.retain(is_shown);
        let instructions = session.instructions();
        match form {
            None => Self { instructions, tools, searchable },
            Some(form) => {
                Self { instructions: form.instructions(&instructions), tools: form.with_tools(&tools), searchable }
            }
        }
    }
}

/// Asks a model, in a span that records its usage.
async fn ask<M: Model>(model: &mut M, request: ModelRequest<'_>) -> Result<ModelStep, ToolError> {
    if !span::is_wanted() {
        return model.step(request).await;
    }
    let info = model.about();
    let asking = async {
        if let Some(provider) = &info.provider {
            trace::attribute("gen_ai.provider.name", &**provider);
        }
        let step = model.step(request).await?;
        trace::record(step.model_usage(&info));
        Ok(step)
    };
    Box::pin(spans::in_model_span(info.model.clone(), asking)).await
}

/// A step whose calls are running. When it is dropped, even before the calls have ended, it writes the step to the history:
/// the calls in canonical form, and one result for each.
struct OpenStep<'a> {
    session: &'a SessionInner,
    history: &'a mut History,
    /// The step, whose calls have distinct ids.
    step: ModelStep,
    answers: Vec<Option<ToolResponse>>,
}

impl OpenStep<'_> {
    /// Runs the calls of a step, writes it to the history, and returns the responses in the order of the calls.
    async fn run(session: &Arc<SessionInner>, history: &mut History, mut step: ModelStep) -> Vec<ToolResponse> {
        let made = step.calls.len();
        let step_calls = distinct_calls(session, with_fresh_ids(history, step.calls));
        step.calls = step_calls.iter().map(|step_call| step_call.call.clone()).collect();
        // The items of a raw turn correspond to the calls, one for one.
        step.native = step.native.filter(|_| step.calls.len() == made);
        let answers = vec![None; step.calls.len()];
        let mut open = OpenStep { session, history, step, answers };
        let running = run_step(session, step_calls).enumerate().map(async |(index, response)| (index, response.await));
        let mut running = running.collect::<FuturesUnordered<_>>();
        while let Some((index, response)) = running.next().await {
            open.answers[index] = Some(response);
        }
        open.write();
        std::mem::take(&mut open.answers).into_iter().flatten().collect()
    }

    /// Returns a call as it goes back into the history. A call that was refused for its text or its name stays as it was
    /// sent, so that the model finds what the error is about.
    fn canonical_call(&self, call: &ToolCall, answer: Option<&ToolResponse>) -> ToolCall {
        let error = answer.and_then(ToolResponse::error).map(|error| error.kind);
        match self.session.tools.find(call.name()) {
            Some((_, tool)) if !matches!(error, Some(ErrorKind::Validation | ErrorKind::NotFound)) => {
                call.clone().with_arguments(canonical_sent_arguments(self.session, tool, call.arguments()))
            }
            _ => call.clone(),
        }
    }

    /// Writes the step to the history, once.
    fn write(&mut self) {
        let ModelStep { text, calls, native, .. } = std::mem::take(&mut self.step);
        if calls.is_empty() {
            return;
        }
        let answered = calls.iter().zip(&self.answers);
        let canonical = answered.clone().map(|(call, answer)| self.canonical_call(call, answer.as_ref())).collect();
        self.history.push(Message::Assistant { text, calls: canonical, native });
        for (call, answer) in answered {
            match answer {
                Some(response) => self.history.push_result(call, response),
                None => self.history.push_result(call, &cancelled(self.session, call)),
            }
        }
    }
}

impl Drop for OpenStep<'_> {
    fn drop(&mut self) {
        self.write();
    }
}

/// Gives a new id to calls without one, and to calls whose id an earlier step has used, as some providers repeat ids.
pub(crate) fn with_fresh_ids(history: &History, mut calls: Vec<ToolCall>) -> Vec<ToolCall> {
    let known = history.calls().map(ToolCall::id).collect::<HashSet<_>>();
    let mut taken = calls.iter().map(|call| Arc::clone(call.shared_id())).collect::<HashSet<_>>();
    let mut free = (history.calls().count() + calls.len()..).map(|number| format!("call_{number}"));
    for call in &mut calls {
        if call.id().is_empty() || known.contains(call.id()) {
            let id = free.find(|id| !known.contains(&**id) && taken.insert(id.as_str().into()));
            *call = call.clone().with_id(id.unwrap_or_default());
        }
    }
    calls
}

/// Returns the response to a call whose end the caller did not wait for.
#[cold]
fn cancelled(session: &SessionInner, call: &ToolCall) -> ToolResponse {
    let tool = session.tools.find(call.name());
    let harmless = tool.is_some_and(|(_, tool)| tool.definition().compiled.is_harmless());
    let message = if harmless {
        "The call was cancelled: the turn was interrupted before it ended."
    } else {
        "The call was cancelled: the turn was interrupted before it ended, and it may have taken effect."
    };
    let error = ToolError::new(ErrorKind::Cancelled, message, false).partial_side_effects(!harmless);
    ToolResponse::refused(call, error, CallInstant::now())
}
