//! An agent that other agents call as a tool.

use futures_util::future::join_all;
use serde_json::{Value, json};
use std::collections::HashSet;
use tool_core::call::{ModelResult, ResultForm};
use tool_core::session::{
    AnswerVerdict, Guards, History, InputVerdict, MAX_PAUSES, Message, Model, ModelRequest,
    ModelStep, ReplyFinish, ToolChoice, UserMessage,
};
use tool_core::trace::{self, SpanHandle, SpanKind};
use tool_core::{
    FunctionTool, RawTool, RunContext, ToolCall, ToolContext, ToolDefinition, ToolError,
};

/// The most steps of calls in a task, if no number is set.
const MAX_STEPS: u32 = 8;

/// The most calls of a step. Further ones are answered with an error.
const MAX_STEP_CALLS: usize = 32;

/// An agent that other agents call as a tool. It works on one task in a conversation of its own,
/// which its caller does not see, and returns its answer as a text.
///
/// Its calls are calls of the session in which it works. They spend the budgets and caps of its
/// caller, act for the same principal, and end with it. A call that needs approval is asked for in
/// the reply of the caller, where a person can answer. The spans of its model and its calls are
/// inside a span with its name. Its tokens are there, and not in the [`Reply::usage`](tool_core::session::Reply::usage) of the caller.
///
/// It calls tools of the session only, so add them to the same context. Agents may call agents, as
/// deep as
/// [`Policy::max_depth`](tool_core::Policy::max_depth) lets tools call tools. The session finds loops among all calls of a turn.
///
/// ```
/// use tool_adapters::agent::{AgentLoop, SubAgent};
/// use tool_core::testing::ScriptedModel;
/// use tool_core::{Mode, Runtime, ToolCall, ToolContext, tool};
///
/// /// Find free tables
/// #[tool]
/// fn find_tables(seats: u32) -> Vec<u32> {
///     vec![seats + 1]
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // A real model is `|| HttpModel::new(Provider::Anthropic, "claude-haiku-4-5")`.
/// let waiter_model = || {
///     let call = ToolCall::new("call_1", "find_tables", r#"{"seats": 2}"#);
///     ScriptedModel::new().calls([call]).says("Table 3 is free.")
/// };
/// let tables = ToolContext::builder().with(find_tables).build()?;
/// let waiter = SubAgent::new(&tables, waiter_model)
///     .instructions("You know the tables.")
///     .as_tool("ask_waiter", "Ask the waiter about tables.");
///
/// let tools = ToolContext::builder().with(find_tables).with(waiter).build()?;
/// let session = Runtime::builder(tools).build()?.session("s-1", Mode::Text).await?;
/// let call = ToolCall::new("call_1", "ask_waiter", r#"{"task": "A table for two?"}"#);
/// let mut host = AgentLoop::new(session, ScriptedModel::new().calls([call]).says("Table 3."));
/// let reply = host.prompt("A table for two?").await;
/// assert_eq!(reply.responses[0].data_json(), Some(r#""Table 3 is free.""#));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct SubAgent<F> {
    model: F,
    tools: Vec<ToolDefinition>,
    instructions: String,
    max_steps: u32,
    guards: Guards,
}

impl<M: Model + 'static, F: Fn() -> M + Send + Sync + 'static> SubAgent<F> {
    /// Creates an agent that may call these tools of its caller's session. `model` makes the model
    /// of each task.
    pub fn new(tools: &ToolContext, model: F) -> Self {
        Self {
            model,
            tools: tools.definitions().cloned().collect(),
            instructions: String::new(),
            max_steps: MAX_STEPS,
            guards: Guards::new(),
        }
    }

    /// Sets the instructions for the model.
    pub fn instructions(self, text: impl Into<String>) -> Self {
        Self {
            instructions: text.into(),
            ..self
        }
    }

    /// Sets the number of steps of calls in a task. After these the model must answer without
    /// calls. Defaults to 8.
    pub fn max_steps(self, steps: u32) -> Self {
        Self {
            max_steps: steps,
            ..self
        }
    }

    /// Sets the guards of this agent: of its task, and of its answer. Its caller's guards check what
    /// the user says and reads, and not this agent. What a guard refuses is the error of the call,
    /// with the text of the guard.
    ///
    /// ```
    /// use tool_adapters::agent::SubAgent;
    /// use tool_core::ToolContext;
    /// use tool_core::session::{AnswerVerdict, GuardedAnswer, Guards};
    /// use tool_core::testing::ScriptedModel;
    ///
    /// # fn main() -> Result<(), tool_core::RegistryErrors> {
    /// let short = Guards::new().answer(async |answer: GuardedAnswer<'_>| {
    ///     let is_short = answer.text.len() < 500;
    ///     Ok(if is_short { AnswerVerdict::Pass } else { AnswerVerdict::AskAgain("it is too long".into()) })
    /// });
    /// let tools = ToolContext::builder().build()?;
    /// let waiter = SubAgent::new(&tools, || ScriptedModel::new().says("Table 3.")).guards(short);
    /// # let _ = waiter;
    /// # Ok(())
    /// # }
    /// ```
    pub fn guards(self, guards: Guards) -> Self {
        Self { guards, ..self }
    }

    /// Returns the agent as a tool with one argument, the `task`.
    pub fn as_tool(self, name: impl Into<String>, description: impl Into<String>) -> FunctionTool {
        let declared = RawTool {
            name: name.into(),
            description: description.into(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "task": {
                        "type": "string",
                        "minLength": 1,
                        "description": "The task, with all that is needed for it",
                    },
                },
                "required": ["task"],
                "additionalProperties": false,
            }),
        };
        let work = async |agent: &Self, arguments: Value, ctx: &RunContext| {
            let task = arguments["task"].as_str().unwrap_or_default();
            agent.work(task, ctx).await.map(Value::String)
        };
        FunctionTool::raw_with(declared, self, work).validate(true)
    }

    /// Works on a task inside a span of its own.
    async fn work(&self, task: &str, ctx: &RunContext) -> Result<String, ToolError> {
        let name = ctx.tool().unwrap_or("agent").to_owned();
        let span = SpanHandle::open_if_wanted(SpanKind::Agent, name);
        let answer = span.inside(self.answer(task, ctx)).await;
        match &answer {
            Ok(_) => span.end(),
            Err(error) => span.fail_with(error),
        }
        answer
    }

    async fn answer(&self, task: &str, ctx: &RunContext) -> Result<String, ToolError> {
        let mut model = (self.model)();
        let mut history = History::new();
        let task = self.guarded_task(task, ctx).await?;
        history.push(Message::User(task));
        let mut steps = 0;
        let mut asked_again = 0;
        let mut pauses = 0;
        // The parts of an answer that the provider has paused.
        let mut said = String::new();
        loop {
            model.prepare(&mut history).await;
            let is_last = steps == self.max_steps;
            let choice = if is_last {
                ToolChoice::None
            } else {
                ToolChoice::Auto
            };
            let step = self.ask(&mut model, &history, choice).await?;
            if !step.calls.is_empty() && !is_last {
                steps += 1;
                said.clear();
                self.run_calls(step, &mut history, ctx).await;
                continue;
            }
            if step.finish == ReplyFinish::Paused && step.calls.is_empty() && pauses < MAX_PAUSES {
                pauses += 1;
                said.push_str(step.text.as_deref().unwrap_or_default());
                push_part(step, &mut history);
                continue;
            }

            let answer = answer_of(&step, std::mem::take(&mut said))?;
            let messages = history.messages();
            match self.guards.check_answer(ctx, &answer, messages).await? {
                AnswerVerdict::Pass => return Ok(answer),
                AnswerVerdict::Rewrite(answer) => return Ok(answer),
                AnswerVerdict::AskAgain(reason) if asked_again < Guards::MAX_ASKED_AGAIN => {
                    asked_again += 1;
                    history.push(Message::User(another_answer(&reason)));
                }
                AnswerVerdict::Refuse(message) => return Err(ToolError::permanent(message)),
                _ => {
                    return Err(ToolError::permanent(
                        "the agent gave no answer that its guards let pass; ask for something else",
                    ));
                }
            }
        }
    }

    /// Returns the task as the guards let it pass.
    async fn guarded_task(&self, task: &str, ctx: &RunContext) -> Result<UserMessage, ToolError> {
        let task = UserMessage::new(task);
        match self.guards.check_input(ctx, &task, &[]).await? {
            InputVerdict::Pass => Ok(task),
            InputVerdict::Rewrite(task) => Ok(task),
            InputVerdict::Refuse(message) => Err(ToolError::permanent(message)),
            _ => Err(ToolError::permanent("the task did not pass the guards")),
        }
    }

    /// Asks the model, in a span that records its usage.
    async fn ask(
        &self,
        model: &mut M,
        history: &History,
        tool_choice: ToolChoice,
    ) -> Result<ModelStep, ToolError> {
        let info = model.about();
        let request = ModelRequest {
            instructions: &self.instructions,
            history: history.messages(),
            tools: &self.tools,
            searchable: &[],
            provider_tools: &[],
            tool_choice,
            events: None,
        };
        let span = SpanHandle::open_if_wanted(SpanKind::Llm, info.model.clone());
        let asking = async {
            let step = model.step(request).await?;
            trace::record(step.model_usage(&info));
            Ok(step)
        };
        let step = span.inside(asking).await;
        match &step {
            Ok(_) => span.end(),
            Err(error) => span.fail_with(error),
        }
        step
    }

    /// Runs the calls of a step at the same time, and adds the step and the results to the history.
    async fn run_calls(&self, step: ModelStep, history: &mut History, ctx: &RunContext) {
        let made = step.calls.len();
        let calls = with_distinct_ids(step.calls, history);
        let is_complete = matches!(step.finish, ReplyFinish::Complete | ReplyFinish::Paused);
        let running = calls.iter().enumerate().map(async |(place, call)| {
            if !is_complete {
                return refusal("the call was cut off and was not made; make a shorter one");
            }
            if place >= MAX_STEP_CALLS {
                return refusal("the step has too many calls; make this one in the next step");
            }
            if !self.tools.iter().any(|tool| tool.name() == call.name()) {
                return refusal("there is no tool of this name");
            }
            let response = ctx.call(call.name(), call.arguments()).await;
            if response.is_ok() && response.meta().handoff().is_some() {
                return refusal("a task cannot be handed over; answer it, or say what is missing");
            }
            response.for_model(ResultForm::Plain)
        });
        let results = join_all(running).await;

        let messages = calls
            .iter()
            .zip(results)
            .map(|(call, result)| Message::Result {
                call_id: call.id().to_owned(),
                tool: call.name().to_owned(),
                result,
            });
        let messages = messages.collect::<Vec<_>>();
        history.push(Message::Assistant {
            text: step.text,
            // The items of a raw turn correspond to the calls, one for one.
            native: step.native.filter(|_| calls.len() == made),
            calls,
        });
        history.extend(messages);
    }
}

/// Returns the note that asks a model for another answer, without the one that it gave.
fn another_answer(reason: &str) -> UserMessage {
    UserMessage::new(format!(
        "Your answer was not taken: {reason}. Give another answer."
    ))
}

/// Gives each call an id that no other call of the conversation has.
fn with_distinct_ids(calls: Vec<ToolCall>, history: &History) -> Vec<ToolCall> {
    let messages = history.messages();
    let earlier = messages.iter().flat_map(|message| match message {
        Message::Assistant { calls, .. } => calls.as_slice(),
        _ => &[],
    });
    let mut known = earlier
        .map(|call| call.id().to_owned())
        .collect::<HashSet<_>>();
    let mut free = (messages.len()..).map(|number| format!("call_{number}"));
    let mut distinct = Vec::with_capacity(calls.len());
    for call in calls {
        let is_free = !call.id().is_empty() && !known.contains(call.id());
        let id = if is_free {
            call.id().to_owned()
        } else {
            let found = free.find(|id| !known.contains(id));
            found.unwrap_or_default()
        };
        known.insert(id.clone());
        distinct.push(call.with_id(id));
    }
    distinct
}

/// Returns the result of a call that was not made.
fn refusal(message: &str) -> ModelResult {
    ModelResult {
        text: message.to_owned(),
        is_error: true,
        reply: true,
        parts: false,
        is_text: true,
        goes_on: false,
    }
}

/// Adds a part of an answer that the provider has paused. The model goes on behind it.
fn push_part(step: ModelStep, history: &mut History) {
    if step.text.is_some() || step.native.is_some() {
        history.push(Message::Assistant {
            text: step.text,
            calls: Vec::new(),
            native: step.native,
        });
    }
}

/// Returns the answer of the agent: its parts so far, and the last one. Half an answer is an error, as
/// its caller could not tell.
fn answer_of(step: &ModelStep, said: String) -> Result<String, ToolError> {
    let text = said + step.text.as_deref().unwrap_or_default();
    let is_whole = step.finish == ReplyFinish::Complete
        || step.finish == ReplyFinish::Paused && !step.calls.is_empty();
    if is_whole && !text.trim().is_empty() {
        return Ok(text);
    }

    let problem = match step.finish {
        ReplyFinish::Paused => {
            "the agent's provider has paused its answer too often; give it a smaller task"
        }
        ReplyFinish::Length => {
            "the agent's answer was cut off at its limit of tokens; give it a smaller task"
        }
        ReplyFinish::Withheld | ReplyFinish::Refused => {
            "the agent refused to answer; ask in other words"
        }
        _ => "the agent gave no answer",
    };
    Err(ToolError::permanent(problem))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::{AgentEvent, AgentLoop, Decision};
    use futures_util::StreamExt;
    use std::time::Duration;
    use tool_core::session::{GuardedAnswer, GuardedInput};
    use tool_core::testing::ScriptedModel;
    use tool_core::{ErrorKind, Mode, Policy, Runtime, Session, ToolResponse, tool};

    /// Find a table.
    #[tool(max_calls = 3)]
    fn find_table(seats: u32) -> u32 {
        seats + 1
    }

    /// Cancel a booking.
    #[tool(category = "action", confirm)]
    async fn cancel(ctx: &RunContext, number: u32) -> String {
        let principal = ctx.user_data::<String>();
        format!("{number} for {}", principal.map_or("", String::as_str))
    }

    fn finding(id: &str, seats: u32) -> ToolCall {
        ToolCall::new(id, "find_table", json!({"seats": seats}))
    }

    fn tools() -> ToolContext {
        let tools = ToolContext::builder().with(find_table).with(cancel);
        tools.build().expect("builds")
    }

    /// A session in which a model may ask an agent with this script.
    async fn session(script: ScriptedModel) -> Session {
        let waiter = SubAgent::new(&tools(), move || script.clone());
        let tools = ToolContext::builder()
            .with(find_table)
            .with(cancel)
            .with(waiter.as_tool("ask_waiter", "Ask the waiter."))
            .build()
            .expect("builds");
        let runtime = Runtime::builder(tools).policy(Policy::text()).build();
        let session = runtime.expect("builds").session("s-1", Mode::Text);
        session
            .principal("user:7")
            .user_data("user:7".to_owned())
            .await
            .expect("opens")
    }

    async fn ask(session: &Session) -> ToolResponse {
        let call = ToolCall::new("call_1", "ask_waiter", json!({"task": "A table?"}));
        session.call(call).await
    }

    #[tokio::test]
    async fn an_agent_works_in_a_conversation_of_its_own() {
        let script = ScriptedModel::new()
            .calls([finding("c1", 2)])
            .says("Table 3.");
        let session = session(script).await;
        let call = ToolCall::new("call_1", "ask_waiter", json!({"task": "For two?"}));
        let host = ScriptedModel::new().calls([call]).says("Take table 3.");
        let mut agent = AgentLoop::new(session, host);
        let reply = agent.prompt("A table?").await;
        assert_eq!(reply.responses[0].data_json(), Some(r#""Table 3.""#));
        assert_eq!(
            agent.history().messages().len(),
            4,
            "its calls are not there"
        );
    }

    #[tokio::test]
    async fn calls_of_an_agent_spend_the_budget_of_its_caller() {
        let calls = (0..5).map(|number| finding(&format!("c{number}"), number));
        let script = ScriptedModel::new().calls(calls).says("Done.");
        let session = session(script).await;
        let _ = ask(&session).await;
        let audit = session.audit().await.expect("an audit");
        let found = audit.iter().filter(|entry| entry.tool == "find_table");
        assert_eq!(found.count(), 5);
        let report = session.turn_report().expect("in memory");
        let after = session.call(finding("c9", 9)).await;
        let kind = after.error().map(|error| error.kind);
        assert_eq!(kind, Some(ErrorKind::BudgetExceeded), "{report:?}");
    }

    #[tokio::test]
    async fn an_approval_travels_up_to_the_person() {
        let cancelling = ToolCall::new("c1", "cancel", json!({"number": 12}));
        let script = ScriptedModel::new()
            .calls([cancelling])
            .says("It waits for you.");
        let session = session(script).await;
        let asking = ToolCall::new("call_1", "ask_waiter", json!({"task": "Cancel 12"}));
        let host = ScriptedModel::new()
            .calls([asking])
            .says("Shall I?")
            .says("It is done.");
        let mut agent = AgentLoop::new(session, host);
        let events = agent.stream("Cancel 12").collect::<Vec<_>>().await;
        let wanted = events.iter().find_map(|event| match event {
            AgentEvent::ApprovalWanted(wanted) => Some(wanted),
            _ => None,
        });
        let wanted = wanted.expect("an approval");
        assert_eq!(wanted.call_id, "call_1");
        assert_eq!(wanted.payload, r#"cancel({"number":12})"#);

        let token = wanted.confirmation.token.clone();
        let events = agent.stream(Decision::approve(token)).collect::<Vec<_>>();
        let events = events.await;
        let result = events.iter().find_map(|event| match event {
            AgentEvent::CallResult { response, .. } => response.data_json(),
            _ => None,
        });
        assert_eq!(result, Some(r#""12 for user:7""#));
    }

    #[tokio::test]
    async fn an_agent_calls_its_own_tools_only() {
        let other = ToolCall::new("c1", "ask_waiter", json!({"task": "again"}));
        let script = ScriptedModel::new().calls([other]).says("No.");
        let session = session(script).await;
        assert_eq!(ask(&session).await.data_json(), Some(r#""No.""#));
        let audit = session.audit().await.expect("an audit");
        assert_eq!(audit.len(), 1, "{audit:?}");
    }

    #[tokio::test]
    async fn agents_that_call_each_other_stop_at_the_depth_of_the_policy() {
        let again = || {
            let call = ToolCall::new("c1", "ask_itself", json!({"task": "again"}));
            ScriptedModel::new().calls([call]).says("Too deep.")
        };
        let declared = SubAgent::new(&tools(), again).as_tool("ask_itself", "Ask.");
        let known = ToolContext::builder().with(declared).build();
        let itself = SubAgent::new(&known.expect("builds"), again);
        let tools = ToolContext::builder().with(itself.as_tool("ask_itself", "Ask."));
        let policy = Policy::text().max_depth(3).repeated_calls(None);
        let runtime = Runtime::builder(tools.build().expect("builds")).policy(policy);
        let session = runtime.build().expect("builds").session("s-1", Mode::Text);
        let session = session.await.expect("opens");
        let call = ToolCall::new("call_1", "ask_itself", json!({"task": "Go"}));
        assert_eq!(session.call(call).await.data_json(), Some(r#""Too deep.""#));
        let audit = session.audit().await.expect("an audit");
        assert_eq!(audit.len(), 5, "the call, three deep, and one too many");
    }

    #[tokio::test]
    async fn an_agent_answers_after_its_last_step() {
        let script = (0..3).fold(ScriptedModel::new(), |script, number| {
            script.calls([finding("same", number)])
        });
        let script = script.says("That is all.");
        let waiter = SubAgent::new(&tools(), move || script.clone()).max_steps(3);
        let tools = ToolContext::builder()
            .with(find_table)
            .with(waiter.as_tool("ask_waiter", "Ask."))
            .build()
            .expect("builds");
        let runtime = Runtime::builder(tools).policy(Policy::text()).build();
        let session = runtime.expect("builds").session("s-1", Mode::Text);
        let session = session.await.expect("opens");
        let answer = ask(&session).await;
        assert_eq!(answer.data_json(), Some(r#""That is all.""#));
    }

    fn paused(text: &str) -> ModelStep {
        ModelStep {
            finish: ReplyFinish::Paused,
            ..ModelStep::says(text)
        }
    }

    #[tokio::test]
    async fn an_answer_that_was_paused_is_asked_for_to_its_end() {
        let script = ScriptedModel::new().then(paused("Table ")).says("3.");
        let session = session(script).await;
        assert_eq!(ask(&session).await.data_json(), Some(r#""Table 3.""#));
    }

    #[tokio::test]
    async fn an_answer_that_is_paused_for_ever_is_an_error() {
        let script = (0..20).fold(ScriptedModel::new(), |script, _| script.then(paused("..")));
        let session = session(script).await;
        let response = ask(&session).await;
        let message = response.error().map(|error| error.message.clone());
        assert!(message.is_some_and(|message| message.contains("paused")));
    }

    #[tokio::test]
    async fn half_an_answer_is_an_error() {
        let step = ModelStep {
            finish: ReplyFinish::Length,
            ..ModelStep::says("Table")
        };
        let session = session(ScriptedModel::new().then(step)).await;
        let response = ask(&session).await;
        let message = response.error().map(|error| error.message.clone());
        assert!(message.is_some_and(|message| message.contains("cut off")));
    }

    /// Asks an agent that has guards, and returns the response.
    async fn ask_guarded(guards: Guards, script: ScriptedModel) -> ToolResponse {
        let waiter = SubAgent::new(&tools(), move || script.clone()).guards(guards);
        let tools = ToolContext::builder()
            .with(find_table)
            .with(waiter.as_tool("ask_waiter", "Ask."));
        let runtime = Runtime::builder(tools.build().expect("builds")).policy(Policy::text());
        let session = runtime.build().expect("builds").session("s-1", Mode::Text);
        ask(&session.principal("user:7").await.expect("opens")).await
    }

    async fn no_seven(answer: GuardedAnswer<'_>) -> Result<AnswerVerdict, ToolError> {
        assert_eq!((answer.session, answer.principal), ("s-1", "user:7"));
        Ok(if answer.text.contains('7') {
            AnswerVerdict::AskAgain("table 7 is private".into())
        } else {
            AnswerVerdict::Rewrite(format!("{} Welcome.", answer.text))
        })
    }

    #[tokio::test]
    async fn an_agent_has_guards_of_its_own() {
        let script = ScriptedModel::new().says("Table 7.").says("Table 3.");
        let response = ask_guarded(Guards::new().answer(no_seven), script).await;
        assert_eq!(response.data_json(), Some(r#""Table 3. Welcome.""#));
    }

    #[tokio::test]
    async fn an_agent_answers_again_at_most_twice() {
        let script = (0..9).fold(ScriptedModel::new(), |script, _| script.says("Table 7."));
        let response = ask_guarded(Guards::new().answer(no_seven), script).await;
        let error = response.error().expect("no answer");
        assert!(error.message.contains("guards"), "{}", error.message);
    }

    #[tokio::test]
    async fn a_refused_task_is_the_error_of_the_call() {
        let guards = Guards::new().input(async |input: GuardedInput<'_>| {
            assert_eq!(input.message.text(), "A table?");
            Ok(InputVerdict::Refuse("We are closed.".into()))
        });
        let response = ask_guarded(guards, ScriptedModel::new()).await;
        let error = response.error().expect("a refusal");
        assert_eq!(error.message, "We are closed.");
    }

    /// A model that never answers.
    struct Silent;

    impl Model for Silent {
        async fn step(&mut self, _: ModelRequest<'_>) -> Result<ModelStep, ToolError> {
            std::future::pending().await
        }
    }

    #[tokio::test]
    async fn an_agent_is_cancelled_with_its_caller() {
        let waiter = SubAgent::new(&tools(), || Silent).as_tool("ask_waiter", "Ask.");
        let tools = ToolContext::builder().with(waiter).build().expect("builds");
        let runtime = Runtime::builder(tools).policy(Policy::text()).build();
        let session = runtime.expect("builds").session("s-1", Mode::Text);
        let session = session.await.expect("opens");
        let calling = session.clone();
        let asked = tokio::spawn(async move { ask(&calling).await });
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert!(session.cancel("call_1"));
        let response = asked.await.expect("ends");
        let kind = response.error().map(|error| error.kind);
        assert_eq!(kind, Some(ErrorKind::Cancelled));
    }
}
