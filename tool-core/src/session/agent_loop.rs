//! The agent loop: asks a model, runs what it calls, and asks again until it has replied.

use crate::call::{
    Confirmation, ErrorBody, ErrorKind, OutputKind, ToolCall, ToolError, ToolResponse,
};
use crate::json::raw::RawJson;
use crate::session::answer_form::{AnswerForm, AnswerVerdict};
use crate::session::history::History;
use crate::session::inner::SessionInner;
use crate::session::message::Message;
use crate::session::model::{Model, ModelRequest, ToolChoice};
use crate::session::model_span::ask;
use crate::session::model_step::ModelStep;
use crate::session::pipeline::governed_call::canonical_sent_arguments;
use crate::session::pipeline::step::{StepCall, distinct_calls, run_step, with_fresh_ids};
use crate::session::pipeline::without_tool;
use crate::session::raw_turn::RawTurn;
use crate::session::reply_finish::ReplyFinish;
use crate::session::unmade_calls::{name_of_limit, refusal_of_calls, refused_unread};
use crate::session::user_message::UserMessage;
use crate::time::CallInstant;
use crate::tool::ToolDefinition;
use crate::trace::TokenUsage;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use serde::ser::SerializeSeq;
use serde::{Deserialize, Serialize, Serializer};
use std::sync::Arc;

/// The outcome of asking a model.
///
/// ```
/// use tool_core::session::{History, Model, ModelRequest, ModelStep, ReplyFinish};
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
/// assert_eq!(reply.finish, ReplyFinish::Complete);
/// # Ok(())
/// # }
/// ```
///
/// Its JSON is for the host alone: the confirmations in it have the tokens that approve calls.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[non_exhaustive]
#[must_use]
pub struct Reply {
    /// The last text that the model said in the reply, in a step of its own or beside calls. `None` if it said none. It may be a
    /// part of what the model wanted to say: see [`finish`](Self::finish).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The reason for which the reply ended.
    pub finish: ReplyFinish,
    /// The number of steps in which tools were called.
    pub steps: u32,
    /// The responses to all calls, in order. Calls that wait for approval carry a confirmation in their `meta`. The results of
    /// calls that have ended in the background are among them.
    #[serde(serialize_with = "serialize_responses")]
    pub responses: Vec<ToolResponse>,
    /// True if the turn was interrupted or the session ended before the model had replied.
    pub interrupted: bool,
    /// The tokens of all answers that were paid for: of every step, and of attempts that failed, were repeated or were broken
    /// off, as far as the provider has reported them.
    pub usage: TokenUsage,
    /// The model's error, or the reason for which its last answer has no content. Calls that ran before it have run: their
    /// responses are here and in the history.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorBody>,
}

/// Writes responses with all that is read back.
fn serialize_responses<S: Serializer>(
    responses: &[ToolResponse],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut list = serializer.serialize_seq(Some(responses.len()))?;
    for response in responses {
        list.serialize_element(&RawJson(&response.to_stored_json()))?;
    }
    list.end()
}

impl Reply {
    /// Returns the confirmations that await a person's decision, in the order of the calls.
    pub fn confirmations(&self) -> impl Iterator<Item = &Confirmation> {
        self.responses
            .iter()
            .flat_map(|response| response.meta().confirmations())
    }
}

/// The beginning of a reply.
pub(crate) struct ReplyOpening {
    /// The user's message. Blank for none.
    pub(crate) message: UserMessage,
    /// True to hide the tools that are `ignore_on_enter`.
    pub(crate) is_entering: bool,
    /// The tool choice of the first step.
    pub(crate) first_choice: ToolChoice,
}

/// Asks `model` until it has replied. A `form` makes the answer typed.
pub(crate) async fn reply<M: Model>(
    session: &Arc<SessionInner>,
    model: &mut M,
    history: &mut History,
    opening: ReplyOpening,
    form: Option<&mut AnswerForm>,
) -> Reply {
    let ReplyOpening {
        message,
        is_entering,
        first_choice,
    } = opening;
    let mut open = OpenReply {
        session,
        history,
        is_entering,
        first_choice,
        interruptions: session.running.epoch(),
        max_steps: session.policy().max_tool_steps,
        declared: DeclaredTools::new(session, is_entering, form.as_deref()),
        form,
        reply: Reply::default(),
        said: SaidText::default(),
        pauses: 0,
        lacks_budget: false,
    };
    open.note_background_answers();
    if !message.is_blank() {
        open.history.push(Message::User(message.without_notes()));
    }
    open.run(model).await
}

/// The number of times that the loop continues an answer which the provider paused.
const MAX_PAUSES: u32 = 8;

/// A reply that has not ended.
struct OpenReply<'a> {
    session: &'a Arc<SessionInner>,
    history: &'a mut History,
    /// The form of a typed answer.
    form: Option<&'a mut AnswerForm>,
    is_entering: bool,
    first_choice: ToolChoice,
    /// The interruptions of the session before the reply.
    interruptions: u64,
    max_steps: u32,
    declared: DeclaredTools,
    reply: Reply,
    said: SaidText,
    pauses: u32,
    /// True if a call of the last step was refused because a budget is used up.
    lacks_budget: bool,
}

impl OpenReply<'_> {
    async fn run<M: Model>(mut self, model: &mut M) -> Reply {
        loop {
            self.note_background_answers();
            model.prepare(self.history).await;
            let choice = self.tool_choice();
            let answer = self.ask(model, choice).await;
            if self.was_interrupted() {
                return self.end(ReplyFinish::Interrupted);
            }
            let step = match answer {
                Ok(step) => step,
                Err(error) => {
                    self.reply.error = Some(error.into());
                    return self.end(ReplyFinish::Failed);
                }
            };
            if let Some(finish) = self.take_step(step, choice).await {
                return self.end(finish);
            }
        }
    }

    /// Tells the model of the calls that go on in the background, by notes in the history. Those that have ended are answered with
    /// the reply.
    fn note_background_answers(&mut self) {
        for answer in self
            .session
            .background()
            .into_iter()
            .flat_map(|answers| answers.take())
        {
            self.history.extend(answer.note().map(Message::user));
            if answer.is_end {
                self.reply.responses.push(answer.response);
            }
        }
    }

    fn may_call(&self) -> bool {
        self.reply.steps < self.max_steps
    }

    fn was_interrupted(&self) -> bool {
        self.session.running.epoch() != self.interruptions
    }

    fn tool_choice(&self) -> ToolChoice {
        if let Some(form) = &self.form
            && (form.wants_answer || !self.may_call())
        {
            return ToolChoice::Answer;
        }
        match self.reply.steps {
            _ if !self.may_call() => ToolChoice::None,
            0 => self.first_choice,
            _ => ToolChoice::Auto,
        }
    }

    /// Asks the model, and counts what its answers have used.
    async fn ask<M: Model>(
        &mut self,
        model: &mut M,
        tool_choice: ToolChoice,
    ) -> Result<ModelStep, ToolError> {
        let request = ModelRequest {
            instructions: &self.declared.instructions,
            history: self.history.messages(),
            tools: &self.declared.tools,
            searchable: &self.declared.searchable,
            provider_tools: self.session.tools.context.provider_tools(),
            tool_choice,
        };
        let answer = ask(model, request).await;
        self.reply.usage += model.take_failed_usage();
        let mut step = answer?;
        self.reply.usage += step.usage;
        // Some providers report no usage.
        if step.usage.input > 0 {
            self.session.observe_context(step.usage.input);
        }
        step.text = step.text.filter(|text| !text.trim().is_empty());
        step.native = step.native.and_then(RawTurn::unless_too_deep);
        Ok(step)
    }

    /// Takes a step in. Returns the end of the reply; `None` if the model is asked again.
    async fn take_step(&mut self, mut step: ModelStep, choice: ToolChoice) -> Option<ReplyFinish> {
        let is_paused = step.finish == ReplyFinish::Paused && step.calls.is_empty();
        let is_read = self.form.is_some() && !is_paused && may_have_answer(&step);
        if !is_read || !step.calls.is_empty() {
            self.said.add(step.text.as_deref(), is_paused);
        }
        if is_paused {
            return self.take_pause(step);
        }
        let may_call = self.may_call();
        if let Some(form) = self.form.as_deref_mut().filter(|_| is_read) {
            let finish = step.finish;
            match form
                .read(self.session, &mut step, self.history, may_call)
                .await
            {
                AnswerVerdict::CallsTools => {}
                AnswerVerdict::AskAgain => return None,
                AnswerVerdict::Taken => return Some(self.finish_of_answer(ReplyFinish::Complete)),
                AnswerVerdict::GivenUp if finish == ReplyFinish::Length => return Some(finish),
                AnswerVerdict::GivenUp => return Some(ReplyFinish::Failed),
            }
        }
        if step.calls.is_empty() || choice == ToolChoice::None {
            return Some(self.take_answer(step));
        }
        match step.finish {
            ReplyFinish::Complete | ReplyFinish::Paused => self.run_calls(step).await,
            _ => self.refuse_calls(step).await,
        }
    }

    /// Takes a part of an answer that the provider paused. It goes back as it is, and the model goes on.
    fn take_pause(&mut self, step: ModelStep) -> Option<ReplyFinish> {
        if step.text.is_some() || step.native.is_some() {
            self.history.push(Message::Assistant {
                text: step.text,
                calls: Vec::new(),
                native: step.native,
            });
        }
        self.pauses += 1;
        (self.pauses > MAX_PAUSES).then_some(ReplyFinish::Paused)
    }

    /// Takes an answer without calls, or whose calls are ignored. Ignored calls are not answered.
    fn take_answer(&mut self, step: ModelStep) -> ReplyFinish {
        let has_ignored_calls = !step.calls.is_empty();
        if !has_ignored_calls {
            self.reply.error = reason_of_nothing(&step).map(ErrorBody::from);
        }
        // The provider's raw turn would bring ignored calls into the history.
        let native = step.native.filter(|_| !has_ignored_calls);
        if step.text.is_some() || native.is_some() {
            self.history.push(Message::Assistant {
                text: step.text,
                calls: Vec::new(),
                native,
            });
        }
        if has_ignored_calls && step.finish == ReplyFinish::Complete && !self.may_call() {
            return ReplyFinish::StepLimit;
        }
        self.finish_of_answer(step.finish)
    }

    /// Returns the end of a reply whose last answer has no calls and ended for this reason.
    fn finish_of_answer(&self, finish: ReplyFinish) -> ReplyFinish {
        match finish {
            ReplyFinish::Complete if self.reply.steps > 0 && !self.may_call() => {
                ReplyFinish::StepLimit
            }
            ReplyFinish::Complete if self.lacks_budget => ReplyFinish::Budget,
            finish => finish,
        }
    }

    /// Runs the calls of a step.
    async fn run_calls(&mut self, step: ModelStep) -> Option<ReplyFinish> {
        let form = self.form.as_deref_mut();
        let responses = OpenStep::run(self.session, self.history, step, form.as_deref()).await;
        if let Some(form) = form {
            form.wants_answer = false;
        }
        let wants_no_reply =
            |response: &ToolResponse| response.is_ok() && response.kind() == OutputKind::Stop;
        let is_over = !responses.is_empty() && responses.iter().all(wants_no_reply);
        let is_over_budget = |response: &ToolResponse| {
            response
                .error()
                .is_some_and(|error| error.kind == ErrorKind::BudgetExceeded)
        };
        self.lacks_budget = responses.iter().any(is_over_budget);
        self.reply.steps += 1;
        self.reply.responses.extend(responses);
        if self.was_interrupted() {
            return Some(ReplyFinish::Interrupted);
        }
        if is_over {
            return Some(ReplyFinish::Complete);
        }
        if self.session.tools.search.is_some() {
            // The calls may have found tools.
            self.declared =
                DeclaredTools::new(self.session, self.is_entering, self.form.as_deref());
        }
        None
    }

    /// Answers the calls of an answer that did not end as a complete one. None of them runs. The model may make them anew if
    /// the answer was too long.
    async fn refuse_calls(&mut self, step: ModelStep) -> Option<ReplyFinish> {
        let finish = step.finish;
        let message = refusal_of_calls(finish, step.max_tokens);
        let responses = OpenStep::refuse(self.session, self.history, step, &message).await;
        self.reply.steps += 1;
        self.reply.responses.extend(responses);
        if self.was_interrupted() {
            return Some(ReplyFinish::Interrupted);
        }
        (finish != ReplyFinish::Length).then_some(finish)
    }

    fn end(self, finish: ReplyFinish) -> Reply {
        let interrupted = finish == ReplyFinish::Interrupted;
        Reply {
            text: self.said.last,
            finish,
            interrupted,
            ..self.reply
        }
    }
}

/// The texts of the model in a reply.
#[derive(Default)]
struct SaidText {
    /// The last text.
    last: Option<String>,
    /// The text of an answer that the provider has paused, so far.
    paused: String,
}

impl SaidText {
    /// Adds the text of a step. The parts of a paused answer are one text.
    fn add(&mut self, text: Option<&str>, is_paused: bool) {
        let mut whole = std::mem::take(&mut self.paused);
        whole.push_str(text.unwrap_or_default());
        if is_paused {
            self.paused.clone_from(&whole);
        }
        if !whole.is_empty() {
            self.last = Some(whole);
        }
    }
}

/// Returns false for a step that cannot have a typed answer: one that was refused or withheld, or that was cut off before it had
/// anything.
fn may_have_answer(step: &ModelStep) -> bool {
    match step.finish {
        ReplyFinish::Complete | ReplyFinish::Paused => true,
        ReplyFinish::Length => step.text.is_some() || !step.calls.is_empty(),
        _ => false,
    }
}

/// Returns the error of an answer that ended before it had a text or a call; `None` for every other answer.
fn reason_of_nothing(step: &ModelStep) -> Option<ToolError> {
    if step.text.is_some() || !step.calls.is_empty() {
        return None;
    }
    let message = match step.finish {
        ReplyFinish::Length => format!(
            "the answer reached {} before it had a text or a call: raise `max_tokens`, or let the model think less",
            name_of_limit(step.max_tokens)
        ),
        ReplyFinish::Withheld => {
            "the provider withheld the answer: ask in other words, or change the provider's filter"
                .to_owned()
        }
        ReplyFinish::Refused => {
            "the model refused to answer and gave no reason: ask in other words".to_owned()
        }
        _ => return None,
    };
    Some(ToolError::permanent(message))
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
            None => Self {
                instructions,
                tools,
                searchable,
            },
            Some(form) => Self {
                instructions: form.instructions(&instructions),
                tools: form.with_tools(&tools),
                searchable,
            },
        }
    }
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

impl<'a> OpenStep<'a> {
    /// Opens a step whose calls have no answers yet. Returns its calls, too.
    fn open(
        session: &'a SessionInner,
        history: &'a mut History,
        mut step: ModelStep,
    ) -> (Self, Vec<StepCall>) {
        let made = step.calls.len();
        let step_calls = distinct_calls(session, with_fresh_ids(history, step.calls));
        step.calls = step_calls
            .iter()
            .map(|step_call| step_call.call.clone())
            .collect();
        // The items of a raw turn correspond to the calls, one for one.
        step.native = step.native.filter(|_| step.calls.len() == made);
        let answers = vec![None; step.calls.len()];
        (
            OpenStep {
                session,
                history,
                step,
                answers,
            },
            step_calls,
        )
    }

    /// Runs the calls of a step, writes it to the history, and returns the responses in the order of the calls. A typed answer
    /// among them is not taken, as it does not know the results.
    async fn run(
        session: &'a Arc<SessionInner>,
        history: &'a mut History,
        step: ModelStep,
        form: Option<&AnswerForm>,
    ) -> Vec<ToolResponse> {
        let (mut open, step_calls) = OpenStep::open(session, history, step);
        let mut places = Vec::with_capacity(step_calls.len());
        let mut to_run = Vec::with_capacity(step_calls.len());
        for (place, step_call) in step_calls.into_iter().enumerate() {
            if form.is_some_and(|form| form.takes(&step_call.call)) {
                open.answers[place] = Some(AnswerForm::too_early(&step_call.call));
            } else {
                places.push(place);
                to_run.push(step_call);
            }
        }
        let running = run_step(session, to_run)
            .zip(&places)
            .map(async |(response, place)| (*place, response.await));
        let mut running = running.collect::<FuturesUnordered<_>>();
        while let Some((place, response)) = running.next().await {
            open.answers[place] = Some(response);
        }
        drop(running);
        open.write();
        places
            .into_iter()
            .filter_map(|place| open.answers[place].take())
            .collect()
    }

    /// Answers the calls of a step with an error, without running them, and writes it to the history.
    async fn refuse(
        session: &'a SessionInner,
        history: &'a mut History,
        step: ModelStep,
        message: &str,
    ) -> Vec<ToolResponse> {
        let (mut open, step_calls) = OpenStep::open(session, history, step);
        for (place, step_call) in step_calls.iter().enumerate() {
            let response = refused_unread(&step_call.call, message);
            open.answers[place] =
                Some(without_tool::count_without_tool(session, &step_call.call, response).await);
        }
        open.write();
        std::mem::take(&mut open.answers)
            .into_iter()
            .flatten()
            .collect()
    }
}

impl OpenStep<'_> {
    /// Returns a call as it goes back into the history. A call that was refused for its text or its name stays as it was
    /// sent, so that the model finds what the error is about.
    fn canonical_call(&self, call: &ToolCall, answer: Option<&ToolResponse>) -> ToolCall {
        let error = answer.and_then(ToolResponse::error).map(|error| error.kind);
        match self.session.tools.find(call.name()) {
            Some((_, tool))
                if !matches!(error, Some(ErrorKind::Validation | ErrorKind::NotFound)) =>
            {
                call.clone().with_arguments(canonical_sent_arguments(
                    self.session,
                    tool,
                    call.arguments(),
                ))
            }
            _ => call.clone(),
        }
    }

    /// Writes the step to the history, once.
    fn write(&mut self) {
        let ModelStep {
            text,
            calls,
            native,
            ..
        } = std::mem::take(&mut self.step);
        if calls.is_empty() {
            return;
        }
        let answered = calls.iter().zip(&self.answers);
        let canonical = answered
            .clone()
            .map(|(call, answer)| self.canonical_call(call, answer.as_ref()))
            .collect();
        self.history.push(Message::Assistant {
            text,
            calls: canonical,
            native,
        });
        for (call, answer) in answered {
            match answer {
                Some(response) => self.history.push_result(call, response),
                None => self
                    .history
                    .push_result(call, &cancelled(self.session, call)),
            }
        }
    }
}

impl Drop for OpenStep<'_> {
    fn drop(&mut self) {
        self.write();
    }
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
    let error =
        ToolError::new(ErrorKind::Cancelled, message, false).partial_side_effects(!harmless);
    ToolResponse::refused(call, error, CallInstant::now())
}
