//! The agent loop: asks a model, runs what it calls, and asks again until it has replied.

use crate::call::{ErrorBody, ErrorKind, OutputKind, ToolCall, ToolError, ToolResponse};
use crate::session::agent_event::AgentEvent;
use crate::session::answer_form::{AnswerForm, FormVerdict};
use crate::session::background_ends::earlier_background_ends;
use crate::session::drain_switch::{ReplyInProgress, process_ending};
use crate::session::durable_steps::{
    DurableSteps, RecordedResponse, record, record_response, record_verdict, recorded_error,
};
use crate::session::event_queue::EventSender;
use crate::session::guards::{AnswerVerdict, GuardedPart, InputVerdict};
use crate::session::handoffs::Handoffs;
use crate::session::history::History;
use crate::session::inner::SessionInner;
use crate::session::message::Message;
use crate::session::message_log::{LoggedHistory, MessageLog, beside_calls};
use crate::session::model::{Model, ModelRequest, ToolChoice};
use crate::session::model_span::ask;
use crate::session::model_step::ModelStep;
use crate::session::notes::guard_note;
use crate::session::pipeline::confirm::wanted_approvals;
use crate::session::pipeline::durable_call::make_in_step;
use crate::session::pipeline::governed_call::history_arguments;
use crate::session::pipeline::step::{StepCall, distinct_calls, run_step, with_fresh_ids};
use crate::session::pipeline::without_tool;
use crate::session::raw_turn::RawTurn;
use crate::session::reply::Reply;
use crate::session::reply_finish::ReplyFinish;
use crate::session::reply_guards::ReplyGuards;
use crate::session::reply_tools::DeclaredTools;
use crate::session::running::Interruptions;
use crate::session::said_text::SaidText;
use crate::session::unmade_calls::{
    cancelled, name_of_limit, not_stored, refusal_of_calls, refused_unread,
};
use crate::session::updates::BackgroundAnswer;
use crate::session::user_message::UserMessage;
use crate::time::CallInstant;
use crate::trace::{Redaction, TokenUsage};
use futures_util::FutureExt;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

/// The message of the user and the settings of one reply, for [`Session::reply_with_options`](super::Session::reply_with_options).
///
/// ```
/// use tool_core::session::{ReplyOptions, ToolChoice};
///
/// let options = ReplyOptions::new("Which tables are free?").first_choice(ToolChoice::Required);
/// ```
#[derive(Default)]
#[must_use]
pub struct ReplyOptions<'a> {
    /// The user's message. Blank for none.
    message: UserMessage,
    /// True to hide the tools that are `ignore_on_enter`.
    is_entering: bool,
    /// The tool choice of the first step.
    first_choice: ToolChoice,
    events: Option<EventSender>,
    log: Option<&'a mut (dyn MessageLog + 'static)>,
    handoffs: Option<&'a Handoffs>,
    steps: Option<&'a dyn DurableSteps>,
}

impl<'a> ReplyOptions<'a> {
    /// Creates the options of a reply to a message. A blank message adds none.
    pub fn new(message: impl Into<UserMessage>) -> Self {
        Self {
            message: message.into(),
            ..Self::default()
        }
    }

    /// Creates the options of a reply in which the model speaks first. It does not see tools that
    /// are `ignore_on_enter`.
    pub fn entering() -> Self {
        Self {
            is_entering: true,
            ..Self::default()
        }
    }

    /// Sets the tool choice of the first step. Later steps may call tools.
    pub fn first_choice(self, choice: ToolChoice) -> Self {
        Self {
            first_choice: choice,
            ..self
        }
    }

    /// Sends the events of the reply. The last one, [`Finished`](super::AgentEvent::Finished), is
    /// sent by the
    /// [`AgentStream`](super::AgentStream).
    pub fn events(self, sender: EventSender) -> Self {
        Self {
            events: Some(sender),
            ..self
        }
    }

    /// Sets the agents between which tools hand the conversation over.
    pub fn handoffs(self, handoffs: &'a Handoffs) -> Self {
        Self {
            handoffs: Some(handoffs),
            ..self
        }
    }

    /// Lets an engine record the steps of the reply: each answer of the model, each call, and each check of a
    /// [guard](super::Guards).
    ///
    /// An engine that runs the reply again has to give it the same history, message and settings. An interruption takes effect
    /// at the end of a step. A session with
    /// [`background_answers`](super::SessionBuilder::background_answers) cannot be repeated.
    pub fn steps(self, steps: &'a dyn DurableSteps) -> Self {
        Self {
            steps: Some(steps),
            ..self
        }
    }

    /// Stores the messages of the reply as they are said.
    pub fn log(self, log: &'a mut (dyn MessageLog + 'static)) -> Self {
        Self {
            log: Some(log),
            ..self
        }
    }
}

impl fmt::Debug for ReplyOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplyOptions")
            .field("message", &self.message)
            .field("is_entering", &self.is_entering)
            .field("first_choice", &self.first_choice)
            .finish_non_exhaustive()
    }
}

/// Asks `model` until it has replied. A `form` makes the answer typed.
pub(crate) async fn reply<M: Model>(
    session: &Arc<SessionInner>,
    model: &mut M,
    history: &mut History,
    options: ReplyOptions<'_>,
    form: Option<&mut AnswerForm>,
) -> Reply {
    let ReplyOptions {
        message,
        is_entering,
        first_choice,
        events,
        log,
        handoffs,
        steps,
    } = options;
    if let Some(events) = &events {
        events.started(session.id.as_str(), session.record.turn());
    }
    let mut open = OpenReply {
        session,
        in_progress: session.begin_reply(),
        history: LoggedHistory::new(history, log),
        events,
        is_entering,
        first_choice,
        interruptions: session.running.interruptions(),
        max_steps: session.policy().max_tool_steps,
        declared: DeclaredTools::new(session, is_entering, form.as_deref(), handoffs),
        handoffs,
        steps,
        has_recorded_interruption: false,
        form,
        reply: Reply::default(),
        said: SaidText::default(),
        guards: ReplyGuards::new(session, steps),
        unsent_usage: None,
        pauses: 0,
        asked: 0,
        lacks_budget: false,
    };
    // An engine runs the reply again in another process.
    if open.in_progress.is_none() && open.steps.is_none() {
        let finish = open.fail(process_ending("the reply"));
        return open.end(finish).await;
    }
    let message = match open.guard_input(message).await {
        Ok(message) => message,
        Err(finish) => return open.end(finish).await,
    };
    open.note_earlier_background_ends().await;
    open.note_background_answers();
    if !message.is_blank() {
        open.history.push(Message::User(message));
    }
    // On the heap: the future of the host's function stays small. Without its type, it is also
    // shallow enough for the compiler, which gives up beyond a depth.
    open.run(model).boxed().await
}

/// The number of times that the loop continues an answer which the provider paused. Sub-agents have
/// the same limit.
pub const MAX_PAUSES: u32 = 8;

/// A reply that has not ended.
#[allow(
    clippy::struct_excessive_bools,
    reason = "each says one thing of the reply, and they are independent"
)]
struct OpenReply<'a> {
    session: &'a Arc<SessionInner>,
    /// `None` if the process begins no more replies, since it ends.
    in_progress: Option<ReplyInProgress<'a>>,
    history: LoggedHistory<'a>,
    events: Option<EventSender>,
    /// The form of a typed answer.
    form: Option<&'a mut AnswerForm>,
    is_entering: bool,
    first_choice: ToolChoice,
    /// The interruptions of the session before the reply.
    interruptions: Interruptions,
    max_steps: u32,
    declared: DeclaredTools,
    /// The agents of the conversation. `None` if there is one only.
    handoffs: Option<&'a Handoffs>,
    /// The engine that records the steps.
    steps: Option<&'a dyn DurableSteps>,
    /// True if the engine has recorded that the reply was interrupted during a step.
    has_recorded_interruption: bool,
    reply: Reply,
    said: SaidText,
    /// `None` if no guard checks answers.
    guards: Option<ReplyGuards<'a>>,
    /// The usage of a step whose text the guards have not passed yet.
    unsent_usage: Option<AgentEvent>,
    pauses: u32,
    /// The number of steps of the model that the engine was asked for.
    asked: u32,
    /// True if a call of the last step was refused because a budget is used up.
    lacks_budget: bool,
}

impl OpenReply<'_> {
    async fn run<M: Model>(mut self, model: &mut M) -> Reply {
        loop {
            self.tell_handoff();
            self.note_background_answers();
            let choice = self.tool_choice();
            let answer = match self.steps {
                Some(steps) => self.ask_recorded(steps, model, choice).await,
                None => match self.history.stored().await {
                    // A guard of the message may have taken its time.
                    Ok(()) if self.was_interrupted() => {
                        return self.end(ReplyFinish::Interrupted).await;
                    }
                    Ok(()) => self.prepare_and_ask(model, choice).await,
                    Err(error) => Err(error),
                },
            };
            if self.was_interrupted() {
                return self.end(ReplyFinish::Interrupted).await;
            }
            let step = match answer {
                Ok(step) => step,
                Err(error) => {
                    self.reply.error = Some(error.into());
                    return self.end(ReplyFinish::Failed).await;
                }
            };
            if let Some(finish) = self.take_step(step, choice).await {
                return self.end(finish).await;
            }
        }
    }

    /// Returns the message of the user as the guards let it pass, or the end of the reply.
    async fn guard_input(&mut self, message: UserMessage) -> Result<UserMessage, ReplyFinish> {
        let message = message.without_notes();
        let guards = &self.session.runtime.guards;
        if !guards.has_input() || message.is_blank() {
            return Ok(message);
        }

        let ctx = self.session.current_context();
        let history = self.history.messages();
        let checking = guards.check_input(&ctx, &message, history);
        let verdict = match self.steps {
            Some(steps) => record_verdict(steps, "guards of the message", checking).await,
            None => checking.await,
        };
        match verdict {
            Ok(InputVerdict::Pass) => Ok(message),
            Ok(InputVerdict::Rewrite(message)) => Ok(message),
            Ok(InputVerdict::Refuse(text)) => Err(self.block(GuardedPart::Input, text)),
            Err(error) => Err(self.fail(error)),
        }
    }

    /// Returns the end of a reply that a guard has refused, and tells it.
    fn block(&mut self, part: GuardedPart, message: String) -> ReplyFinish {
        self.show_step(None);
        if let Some(events) = &self.events {
            events.send(AgentEvent::Blocked {
                part,
                message: message.clone(),
            });
        }
        self.said.last = Some(message);
        ReplyFinish::Blocked
    }

    fn fail(&mut self, error: ToolError) -> ReplyFinish {
        self.reply.error = Some(error.into());
        ReplyFinish::Failed
    }

    /// Sends the text of a step that the guards have passed, and its usage. Does nothing if the
    /// step was shown while it came.
    fn show_step(&mut self, text: Option<&str>) {
        if let Some(usage) = self.unsent_usage.take()
            && let Some(events) = &self.events
        {
            events.step_ended(text, usage);
        }
    }

    /// Sends the event of a handoff that has happened. Returns true if there was one.
    fn tell_handoff(&mut self) -> bool {
        let Some(event) = self.handoffs.and_then(Handoffs::event) else {
            return false;
        };
        if let Some(events) = &self.events {
            events.send(event);
        }
        true
    }

    /// Tells the model of the calls that go on in the background, by notes in the history. Those
    /// that have ended are answered with the reply.
    fn note_background_answers(&mut self) {
        // The drafts stay at the end of the history.
        if self.history.has_drafts() {
            return;
        }
        let answers = self.session.background();
        let answers = answers.map_or_else(Vec::new, |answers| answers.take());
        self.note_late_answers(answers);
    }

    /// Tells the model of calls that went on in the background of another process. An engine would have to record what the journal knows,
    /// and it runs no calls in the background.
    async fn note_earlier_background_ends(&mut self) {
        if self.steps.is_some() {
            return;
        }
        let ends = earlier_background_ends(self.session, self.history.messages()).await;
        self.note_late_answers(ends);
    }

    fn note_late_answers(&mut self, answers: Vec<BackgroundAnswer>) {
        for answer in answers {
            // The conversation has the end of each call, also of one that wants no reply: a call without
            // an end counts as lost.
            let end = || answer.is_end.then(|| answer.end_note());
            let note = answer.note().or_else(end);
            // Another process may have told the end from the journal.
            let is_new = |note: &String| !(answer.is_end && self.has_note(note));
            if let Some(note) = note.filter(is_new) {
                self.history.push(Message::user(note));
            }
            if let Some(events) = &self.events {
                events.send(AgentEvent::LateAnswer {
                    call_id: answer.call_id.clone(),
                    is_end: answer.is_end,
                    response: Box::new(answer.response.clone()),
                });
            }
            if answer.is_end {
                self.reply.responses.push(answer.response);
            }
        }
    }

    fn has_note(&self, note: &str) -> bool {
        let is_note =
            |message: &Message| matches!(message, Message::User(said) if said.text() == note);
        self.history.messages().iter().any(is_note)
    }

    fn may_call(&self) -> bool {
        self.reply.steps < self.max_steps
    }

    /// Returns true if the reply was interrupted. With an engine, this is what it has recorded, so that it is the same if the
    /// reply is run again.
    fn was_interrupted(&self) -> bool {
        match self.steps {
            Some(_) => self.has_recorded_interruption,
            None => is_interrupted(self.session, self.interruptions),
        }
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

    async fn prepare_and_ask<M: Model>(
        &mut self,
        model: &mut M,
        tool_choice: ToolChoice,
    ) -> Result<ModelStep, ToolError> {
        model.prepare(self.history.history).await;
        let answer = self.ask(model, tool_choice).await;
        self.reply.usage += model.take_failed_usage();
        Ok(self.receive(answer?))
    }

    /// Asks the model as a step of the engine. The messages are stored within the step, so that a process which finds that
    /// another one has added messages asks nothing.
    async fn ask_recorded<M: Model>(
        &mut self,
        steps: &dyn DurableSteps,
        model: &mut M,
        tool_choice: ToolChoice,
    ) -> Result<ModelStep, ToolError> {
        self.asked += 1;
        let name = format!("model {}", self.asked);
        let asking = async {
            if self.in_progress.is_none() {
                return Err(process_ending("the reply"));
            }
            self.history.stored().await?;
            let before = self.history.messages().to_vec();
            model.prepare(self.history.history).await;
            let prepared = self.history.messages();
            let shortened = (prepared != before).then(|| prepared.to_vec());
            let answer = self.ask(model, tool_choice).await;
            Ok(RecordedAnswer {
                answer: answer.map_err(ErrorBody::from),
                failed_usage: model.take_failed_usage(),
                shortened,
                is_interrupted: is_interrupted(self.session, self.interruptions),
            })
        };
        let recorded = record(steps, &name, asking).await?;
        if let Some(messages) = recorded.shortened {
            self.history.history.shorten_to(messages);
        }
        self.has_recorded_interruption |= recorded.is_interrupted;
        self.reply.usage += recorded.failed_usage;
        let step = recorded.answer.map_err(recorded_error)?;
        Ok(self.receive(step))
    }

    /// Asks the model.
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
            provider_tools: self.declared.provider_tools(self.session),
            tool_choice,
            // What a guard has not passed is not shown.
            events: self.events.as_ref().filter(|_| self.guards.is_none()),
        };
        let agent = self.handoffs.map(Handoffs::active);
        ask(model, request, agent).await
    }

    /// Takes an answer of the model in, and counts what it has used.
    fn receive(&mut self, mut step: ModelStep) -> ModelStep {
        self.reply.usage += step.usage;
        // Some providers report no usage.
        if step.usage.context() > 0 {
            self.session.observe_context(step.usage.context());
        }
        step.text = step.text.filter(|text| !text.trim().is_empty());
        step.native = step.native.and_then(RawTurn::unless_too_deep);
        if let Some(events) = &self.events {
            let usage = AgentEvent::Usage {
                step: step.usage,
                total: self.reply.usage,
            };
            if self.guards.is_some() {
                self.unsent_usage = Some(usage);
            } else {
                events.step_ended(step.text.as_deref(), usage);
            }
        }
        step
    }

    /// Takes a step in. Returns the end of the reply; `None` if the model is asked again.
    async fn take_step(&mut self, mut step: ModelStep, choice: ToolChoice) -> Option<ReplyFinish> {
        let is_paused = step.finish == ReplyFinish::Paused && step.calls.is_empty();
        let is_read = self.form.is_some() && !is_paused && may_have_answer(&step);
        let is_said = !is_read || !step.calls.is_empty();
        if is_said && self.guards.is_none() {
            self.said.add(step.text.as_deref(), is_paused);
        }
        if is_paused {
            return self.take_pause(step).await;
        }
        if is_read && let Some(verdict) = self.read_form(&mut step).await {
            return self.take_form(verdict, step.finish);
        }
        if step.calls.is_empty() || choice == ToolChoice::None {
            return self.take_answer(step).await;
        }
        self.history.accept_drafts();
        self.said.paused.clear();
        self.show_step(None);
        match step.finish {
            ReplyFinish::Complete | ReplyFinish::Paused => self.run_calls(step).await,
            _ => self.refuse_calls(step).await,
        }
    }

    /// Reads a typed answer out of a step. `None` if the step calls other tools.
    async fn read_form(&mut self, step: &mut ModelStep) -> Option<FormVerdict> {
        let may_call = self.may_call();
        let form = self.form.as_deref_mut()?;
        let history = &mut self.history;
        let guards = self.guards.as_mut();
        form.read(self.session, step, history, may_call, guards)
            .await
    }

    /// Takes the verdict on a typed answer in. Returns the end of the reply; `None` if the model is
    /// asked again.
    fn take_form(&mut self, verdict: FormVerdict, finish: ReplyFinish) -> Option<ReplyFinish> {
        match verdict {
            FormVerdict::Taken { shown } => {
                self.show_step(shown.as_deref());
                Some(self.finish_of_answer(ReplyFinish::Complete))
            }
            FormVerdict::Blocked(message) => Some(self.block(GuardedPart::Answer, message)),
            FormVerdict::Failed(error) => Some(self.fail(error)),
            FormVerdict::GivenUp if finish == ReplyFinish::Length => Some(finish),
            FormVerdict::GivenUp => Some(ReplyFinish::Failed),
            FormVerdict::AskAgain => {
                self.show_step(None);
                None
            }
        }
    }

    /// Takes a part of an answer that the provider paused. It goes back as it is, and the model
    /// goes on.
    async fn take_pause(&mut self, step: ModelStep) -> Option<ReplyFinish> {
        self.pauses += 1;
        let is_over = self.pauses > MAX_PAUSES;
        if self.guards.is_some() {
            if is_over {
                return self.take_answer(step).await;
            }
            self.said.hold(step.text.as_deref());
            self.show_step(None);
        }
        if step.text.is_some() || step.native.is_some() {
            let part = Message::Assistant {
                text: step.text,
                calls: Vec::new(),
                native: step.native,
            };
            match &self.guards {
                Some(_) => self.history.push_draft(part),
                None => self.history.push(part),
            }
        }
        is_over.then_some(ReplyFinish::Paused)
    }

    /// Takes an answer without calls, or whose calls are ignored. Ignored calls are not answered.
    /// Returns `None` if a guard wants another answer.
    async fn take_answer(&mut self, step: ModelStep) -> Option<ReplyFinish> {
        let has_ignored_calls = !step.calls.is_empty();
        if !has_ignored_calls {
            self.reply.error = reason_of_nothing(&step).map(ErrorBody::from);
        }
        // The provider's raw turn would bring ignored calls into the history.
        let mut answer = Message::Assistant {
            text: step.text.clone(),
            calls: Vec::new(),
            native: step.native.filter(|_| !has_ignored_calls),
        };

        if let Some(guards) = &mut self.guards {
            let whole = self.said.whole(step.text.as_deref());
            let verdict = match &whole {
                Some(whole) => guards.check(whole, self.history.messages()).await,
                None => Ok(AnswerVerdict::Pass),
            };
            if self.was_interrupted() {
                return Some(ReplyFinish::Interrupted);
            }
            match verdict {
                Ok(AnswerVerdict::Pass) => {
                    self.history.accept_drafts();
                    self.said.last = whole;
                }
                Ok(AnswerVerdict::Rewrite(text)) => {
                    self.history.discard_drafts();
                    // The provider's raw turn would bring the original back.
                    answer = says(&text);
                    self.said.last = Some(text);
                }
                Ok(AnswerVerdict::AskAgain(reason)) => {
                    self.history.discard_drafts();
                    self.show_step(None);
                    self.history.push(Message::user(guard_note(&reason)));
                    return None;
                }
                Ok(AnswerVerdict::Refuse(text)) => {
                    self.history.discard_drafts();
                    self.history.push(says(&text));
                    return Some(self.block(GuardedPart::Answer, text));
                }
                Err(error) => return Some(self.fail(error)),
            }
            let shown = self.said.last.clone();
            self.show_step(shown.as_deref());
        }

        if !is_empty(&answer) {
            self.history.push(answer);
        }
        if has_ignored_calls && step.finish == ReplyFinish::Complete && !self.may_call() {
            return Some(ReplyFinish::StepLimit);
        }
        Some(self.finish_of_answer(step.finish))
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
        let mut open = OpenStep::open(self.session, self.history.reborrow(), step);
        open.handoffs = self.handoffs;
        open.steps = self.steps;
        open.interruptions = self.interruptions;
        let events = self.events.as_ref();
        let interrupted = &mut self.has_recorded_interruption;
        let responses = match open
            .run(self.session, form.as_deref(), events, interrupted)
            .await
        {
            Ok(responses) => responses,
            Err(error) => {
                self.reply.error = Some(error.into());
                return Some(ReplyFinish::Failed);
            }
        };
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
        let was_handed_over = self.tell_handoff();
        if self.was_interrupted() {
            return Some(ReplyFinish::Interrupted);
        }
        if is_over {
            return Some(ReplyFinish::Complete);
        }
        // The calls may have found tools.
        if was_handed_over || self.session.tools.search.is_some() {
            self.declared = DeclaredTools::new(
                self.session,
                self.is_entering,
                self.form.as_deref(),
                self.handoffs,
            );
        }
        None
    }

    /// Answers the calls of an answer that did not end as a complete one. None of them runs. The
    /// model may make them anew if the answer was too long.
    async fn refuse_calls(&mut self, step: ModelStep) -> Option<ReplyFinish> {
        let finish = step.finish;
        let message = refusal_of_calls(finish, step.max_tokens);
        let open = OpenStep::open(self.session, self.history.reborrow(), step);
        let responses = open.refuse(&message, self.events.as_ref()).await;
        self.reply.steps += 1;
        self.reply.responses.extend(responses);
        if self.was_interrupted() {
            return Some(ReplyFinish::Interrupted);
        }
        (finish != ReplyFinish::Length).then_some(finish)
    }

    async fn end(mut self, mut finish: ReplyFinish) -> Reply {
        self.show_step(None);
        self.history.discard_drafts();
        let stored = match self.steps {
            Some(steps) => record(steps, "stored", self.history.stored()).await,
            None => self.history.stored().await,
        };
        if let Err(error) = stored {
            self.reply.error.get_or_insert_with(|| error.into());
            finish = ReplyFinish::Failed;
        }
        let interrupted = finish == ReplyFinish::Interrupted;
        if let Some(error) = self.reply.error.as_ref().filter(|_| !interrupted) {
            let session = self.session.id.as_str().escape_debug();
            // A provider may repeat a key, also that of another account.
            let message = Redaction::new().text(&error.message);
            let message = message.escape_debug();
            tracing::warn!(%session, kind = %error.kind, "a reply failed: {message}");
        }
        Reply {
            text: self.said.last,
            finish,
            interrupted,
            ..self.reply
        }
    }
}

/// The outcome of a step of the model, as an engine records it.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RecordedAnswer {
    answer: Result<ModelStep, ErrorBody>,
    /// The tokens of attempts that have failed.
    #[serde(default)]
    failed_usage: TokenUsage,
    /// The history, if it was shortened for the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shortened: Option<Vec<Message>>,
    #[serde(default)]
    is_interrupted: bool,
}

fn is_interrupted(session: &SessionInner, interruptions: Interruptions) -> bool {
    session.running.interruptions() != interruptions
}

/// Returns a step of the model that is this text.
fn says(text: &str) -> Message {
    Message::Assistant {
        text: Some(text.to_owned()),
        calls: Vec::new(),
        native: None,
    }
}

/// Returns true for a step of the model that has nothing.
fn is_empty(step: &Message) -> bool {
    matches!(
        step,
        Message::Assistant {
            text: None,
            native: None,
            ..
        }
    )
}

/// Returns false for a step that cannot have a typed answer: one that was refused or withheld, or
/// that was cut off before it had anything.
fn may_have_answer(step: &ModelStep) -> bool {
    match step.finish {
        ReplyFinish::Complete | ReplyFinish::Paused => true,
        ReplyFinish::Length => step.text.is_some() || !step.calls.is_empty(),
        _ => false,
    }
}

/// Returns the error of an answer that ended before it had a text or a call; `None` for every other
/// answer.
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

/// A step whose calls are running. When it is dropped, even before the calls have ended, it writes
/// the step to the history: the calls in canonical form, and one result for each.
struct OpenStep<'a> {
    session: &'a SessionInner,
    history: LoggedHistory<'a>,
    /// The step, whose calls have distinct ids.
    step: ModelStep,
    step_calls: Vec<StepCall>,
    answers: Vec<Option<ToolResponse>>,
    /// The answers as messages, which the log has.
    results: Vec<Option<Message>>,
    handoffs: Option<&'a Handoffs>,
    /// The engine that records the calls.
    steps: Option<&'a dyn DurableSteps>,
    /// The interruptions of the session before the reply.
    interruptions: Interruptions,
    /// The index of the agent to which a call has handed the conversation.
    next_agent: Option<usize>,
}

impl<'a> OpenStep<'a> {
    /// Opens a step whose calls have no answers yet, and adds it to the log.
    fn open(session: &'a SessionInner, history: LoggedHistory<'a>, mut step: ModelStep) -> Self {
        let made = step.calls.len();
        let step_calls = distinct_calls(session, with_fresh_ids(history.history, step.calls));
        step.calls = step_calls
            .iter()
            .map(|step_call| step_call.call.clone())
            .collect();
        // The items of a raw turn correspond to the calls, one for one.
        step.native = step.native.filter(|_| step.calls.len() == made);
        let answers = vec![None; step.calls.len()];
        let results = vec![None; step.calls.len()];
        let mut open = OpenStep {
            session,
            history,
            step,
            step_calls,
            answers,
            results,
            handoffs: None,
            steps: None,
            interruptions: Interruptions::default(),
            next_agent: None,
        };
        open.log_step();
        open
    }

    /// Runs the calls of the step, writes it to the history, and returns the responses in the order
    /// of the calls. A typed answer among them is not taken, as it does not know the results.
    ///
    /// If the log fails, no call runs. With an engine the calls do not wait for the log, since the engine has the step.
    async fn run(
        mut self,
        session: &'a Arc<SessionInner>,
        form: Option<&AnswerForm>,
        events: Option<&EventSender>,
        interrupted: &mut bool,
    ) -> Result<Vec<ToolResponse>, ToolError> {
        let stored = match self.steps {
            Some(_) => Ok(()),
            None => self.history.stored().await,
        };
        if let Err(error) = stored {
            for place in 0..self.step.calls.len() {
                let response = not_stored(&self.step.calls[place]);
                self.answer(place, response);
            }
            return Err(error);
        }
        let step_calls = std::mem::take(&mut self.step_calls);
        let agent = self.handoffs.map(Handoffs::active_agent);
        let mut places = Vec::with_capacity(step_calls.len());
        let mut unseen = Vec::new();
        let mut to_run = Vec::with_capacity(step_calls.len());
        for (place, mut step_call) in step_calls.into_iter().enumerate() {
            if form.is_some_and(|form| form.takes(&step_call.call)) {
                self.answer(place, AnswerForm::too_early(&step_call.call));
                continue;
            }
            if agent.is_some_and(|agent| !agent.sees(session, step_call.call.name())) {
                unseen.push(place);
                continue;
            }
            if let Some(events) = events {
                step_call.call = events.begin(&step_call.call);
            }
            if self.steps.is_some() {
                step_call.call = step_call.call.in_step();
            }
            places.push(place);
            to_run.push(step_call);
        }

        for &place in &unseen {
            self.refuse_unseen(place, events).await;
        }

        let steps = self.steps;
        let interruptions = self.interruptions;
        let calls = match steps {
            Some(_) => self.step.calls.clone(),
            None => Vec::new(),
        };
        let running = run_step(session, to_run)
            .zip(&places)
            .map(async |(response, place)| {
                let recorded = match steps {
                    Some(steps) => {
                        let calling = async {
                            let call = &calls[*place];
                            let response = make_in_step(session, call, response).await?;
                            Ok(RecordedResponse {
                                response,
                                is_interrupted: is_interrupted(session, interruptions),
                            })
                        };
                        Box::pin(record_response(session, steps, &calls[*place], calling)).await
                    }
                    None => RecordedResponse::unrecorded(response.await),
                };
                // Nothing is awaited behind the step: an engine that runs the reply again gives the results in
                // the same order.
                (*place, recorded)
            });
        let mut running = running.collect::<FuturesUnordered<_>>();
        let mut ended = VecDeque::new();
        loop {
            let next = match ended.pop_front() {
                Some(next) => Some(next),
                None => running.next().await,
            };
            let Some((place, recorded)) = next else {
                break;
            };
            *interrupted |= recorded.is_interrupted;
            let waits = recorded.response.meta().confirmations().next().is_some();
            let waiting = (waits && events.is_some()).then(|| recorded.response.clone());
            let had_handoff = self.next_agent.is_some();
            let response = self.take_handoff(place, recorded.response);
            self.answer(place, response);
            if !had_handoff {
                self.log_handoff();
            }
            let mut wanted = Vec::new();
            if let Some(waiting) = &waiting {
                // A person who has a token, and a model that does not know that the call waits, would decide twice.
                // An error ends the reply before the next step.
                let stored = self.history.stored();
                let _ = beside_calls(stored, &mut running, &mut ended).await;
                let looked_up = wanted_approvals(session, waiting);
                wanted = beside_calls(looked_up, &mut running, &mut ended).await;
            }
            if let Some(events) = events
                && let Some(response) = &self.answers[place]
            {
                events.result(&self.step.calls[place], response, wanted);
            }
        }
        drop(running);

        self.write();
        places.extend(unseen);
        places.sort_unstable();
        let responses = places
            .into_iter()
            .filter_map(|place| self.answers[place].take());
        Ok(responses.collect())
    }

    /// Answers a call of a tool that the agent which speaks does not see.
    async fn refuse_unseen(&mut self, place: usize, events: Option<&EventSender>) {
        let call = &self.step.calls[place];
        let agent = self.handoffs.map(Handoffs::active).unwrap_or_default();
        let message = format!(
            "the agent `{agent}` has no tool `{}`; call one that you were given",
            call.name().escape_debug()
        );
        let error = ToolError::new(ErrorKind::NotFound, message, false);
        let response = ToolResponse::refused(call, error, CallInstant::now());
        let response = without_tool::count_without_tool(self.session, call, response).await;
        if let Some(events) = events {
            events.not_run(call, &response);
        }
        self.answer(place, response);
    }

    /// Notes the handoff of a result. Returns an error in its place if the conversation cannot be
    /// handed over.
    fn take_handoff(&mut self, place: usize, response: ToolResponse) -> ToolResponse {
        let handoff = response.meta().handoff().filter(|_| response.is_ok());
        let Some(agent) = handoff else {
            return response;
        };
        let found = match self.handoffs {
            None => Err(ToolError::permanent(
                "the conversation was not handed over: there are no other agents here",
            )),
            Some(_) if self.next_agent.is_some() => Err(ToolError::permanent(
                "the conversation was not handed over: another call of this step has done it",
            )),
            Some(handoffs) => handoffs.find(agent, self.session.record.turn()),
        };
        match found {
            Ok(next) => {
                self.next_agent = Some(next);
                response
            }
            Err(error) => ToolResponse::refused(&self.step.calls[place], error, CallInstant::now()),
        }
    }

    /// Answers the calls of the step with an error, without running them, and writes it to the
    /// history.
    async fn refuse(mut self, message: &str, events: Option<&EventSender>) -> Vec<ToolResponse> {
        for (place, step_call) in std::mem::take(&mut self.step_calls).iter().enumerate() {
            let call = &step_call.call;
            let response = refused_unread(call, message);
            let response = without_tool::count_without_tool(self.session, call, response).await;
            if let Some(events) = events {
                events.not_run(call, &response);
            }
            self.answer(place, response);
        }
        self.write();
        std::mem::take(&mut self.answers)
            .into_iter()
            .flatten()
            .collect()
    }
}

impl OpenStep<'_> {
    /// Returns a call as it goes back into the history. A call that was refused for its text or its
    /// name stays as it was sent, so that the model finds what the error is about.
    fn canonical_call(&self, call: &ToolCall, answer: Option<&ToolResponse>) -> ToolCall {
        let error = answer.and_then(ToolResponse::error).map(|error| error.kind);
        match self.session.tools.find(call.name()) {
            Some((_, tool))
                if !matches!(error, Some(ErrorKind::Validation | ErrorKind::NotFound)) =>
            {
                call.clone()
                    .with_arguments(history_arguments(self.session, tool, call.arguments()))
            }
            _ => call.clone(),
        }
    }

    /// Adds the step to the log. Its calls have no answers, and stay as they were sent if they
    /// cannot be read.
    fn log_step(&mut self) {
        if self.history.log.is_none() || self.step.calls.is_empty() {
            return;
        }
        let calls = self.step.calls.iter();
        let message = Message::Assistant {
            text: self.step.text.clone(),
            calls: calls.map(|call| self.canonical_call(call, None)).collect(),
            native: self.step.native.clone(),
        };
        self.history.note(&message);
    }

    /// Takes the answer of a call.
    fn answer(&mut self, place: usize, response: ToolResponse) {
        let call = &self.step.calls[place];
        let result = self.history.result_message(call, &response);
        self.history.note(&result);
        self.results[place] = Some(result);
        self.answers[place] = Some(response);
    }

    /// Adds the note of a handoff to the log, behind the result that hands the conversation over: the
    /// process may end before the other calls do.
    fn log_handoff(&mut self) {
        if let Some(next) = self.next_agent
            && let Some(handoffs) = self.handoffs
        {
            self.history.note(&handoffs.note(next));
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
            .map(|(call, answer)| self.canonical_call(call, answer.as_ref()))
            .collect();
        self.history.history.push(Message::Assistant {
            text,
            calls: canonical,
            native,
        });
        let results = std::mem::take(&mut self.results);
        for (call, result) in calls.iter().zip(results) {
            if let Some(result) = result {
                self.history.history.push(result);
            } else {
                let response = cancelled(self.session, call);
                self.history.push_result(call, &response);
            }
        }
        if let Some(next) = self.next_agent.take()
            && let Some(handoffs) = self.handoffs
        {
            let turn = self.session.record.turn();
            // The log has the note.
            self.history.history.push(handoffs.hand_over(next, turn));
        }
    }
}

impl Drop for OpenStep<'_> {
    fn drop(&mut self) {
        if self.steps.is_some_and(DurableSteps::is_replayed) {
            // The calls are answered when the engine runs the reply again.
            self.history.log = None;
        }
        self.write();
    }
}
