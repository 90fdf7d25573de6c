//! A reply in the events of the protocol.

use crate::ag_ui::event::RunEvent;
use crate::ag_ui::input::RunInput;
use futures_core::Stream;
use serde_json::{Value, json};
use std::collections::{HashSet, VecDeque};
use std::pin::Pin;
use std::task::{Context, Poll};
use tool_core::ToolResponse;
use tool_core::call::ResultForm;
use tool_core::session::{AgentEvent, AgentStream, ApprovalWanted, Reply, ReplyFinish};
use tool_core::trace::TokenUsage;

/// The version of the protocol.
const VERSION: &str = "1.0";

/// A reply in the events of the protocol. See the [module](super). Dropping it cancels the reply.
#[derive(Debug)]
#[must_use = "a stream does nothing unless it is read"]
pub struct RunStream<'a> {
    events: AgentStream<'a>,
    run: RunState,
    ready: VecDeque<RunEvent>,
}

impl<'a> RunStream<'a> {
    /// Creates the events of a run from the reply to its input.
    pub fn new(events: AgentStream<'a>, input: &RunInput) -> Self {
        Self {
            events,
            run: RunState {
                thread_id: input.thread_id().to_owned(),
                run_id: input.run_id().to_owned(),
                runs_decided_calls: input.is_resumed(),
                known_calls: input.known_calls(),
                ..RunState::default()
            },
            ready: VecDeque::new(),
        }
    }
}

impl Stream for RunStream<'_> {
    type Item = RunEvent;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<RunEvent>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Poll::Ready(Some(event));
            }
            match Pin::new(&mut self.events).poll_next(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Ready(Some(event)) => {
                    let translated = self.run.translate(event);
                    self.ready.extend(translated);
                }
            }
        }
    }
}

/// The state of a run.
#[derive(Debug, Default)]
struct RunState {
    thread_id: String,
    run_id: String,
    /// The number of messages so far.
    messages: u32,
    /// The message that the model is saying.
    open: Option<OpenMessage>,
    /// The message with the text of the step that the model is in.
    text: Option<String>,
    /// The message that has the calls of the last step.
    parent: Option<String>,
    /// True while the calls that persons have decided on run. The front end knows the beginning of
    /// those that the model has made from an earlier run.
    runs_decided_calls: bool,
    /// The calls in the messages of the front end.
    known_calls: HashSet<String>,
    approvals: Vec<ApprovalWanted>,
}

#[derive(Debug)]
struct OpenMessage {
    id: String,
    is_reasoning: bool,
}

impl RunState {
    fn translate(&mut self, event: AgentEvent) -> Vec<RunEvent> {
        let mut events = Vec::new();
        match event {
            AgentEvent::Started { .. } => events.push(RunEvent::RunStarted {
                thread_id: self.thread_id.clone(),
                run_id: self.run_id.clone(),
                protocol_version: VERSION,
            }),
            AgentEvent::Reasoning { delta } => {
                let message_id = self.open(true, &mut events);
                events.push(RunEvent::ReasoningMessageContent { message_id, delta });
            }
            AgentEvent::Text { delta } => {
                let message_id = self.open(false, &mut events);
                events.push(RunEvent::TextMessageContent { message_id, delta });
            }
            AgentEvent::Usage { .. } => {
                self.close(&mut events);
                self.runs_decided_calls = false;
                self.parent = self.text.take();
            }
            AgentEvent::CallBegun {
                call_id,
                tool,
                arguments,
            } if !self.has_begun(&call_id) => {
                self.begin_call(&call_id, tool, arguments, &mut events);
            }
            AgentEvent::CallUpdate {
                call_id,
                tool,
                message,
                fraction,
            } => events.push(RunEvent::ActivitySnapshot {
                message_id: format!("{}-progress-{call_id}", self.run_id),
                activity_type: "tool_progress",
                content: json!({"toolCallId": call_id, "tool": tool, "message": message, "fraction": fraction}),
            }),
            // A call that waits has its result in the run that answers the interrupt.
            AgentEvent::CallResult {
                call_id, response, ..
            } if response.meta().confirmation().is_none() => {
                events.push(self.result(call_id, &response));
            }
            AgentEvent::ApprovalWanted(wanted) => self.approvals.push(wanted),
            AgentEvent::LateAnswer {
                call_id,
                is_end,
                response,
            } => events.push(RunEvent::Custom {
                name: "late_answer",
                value: json!({"toolCallId": call_id, "isEnd": is_end, "content": text_of(&response)}),
            }),
            AgentEvent::Handoff { from, to } => events.push(RunEvent::Custom {
                name: "handoff",
                value: json!({"from": from, "to": to}),
            }),
            AgentEvent::Blocked { message, .. } => self.show(message, &mut events),
            AgentEvent::Finished { reply } => {
                self.end(&reply, &mut events);
            }
            _ => {}
        }
        events
    }

    /// Returns the id of the message that is open, and opens one if another or none is.
    fn open(&mut self, is_reasoning: bool, events: &mut Vec<RunEvent>) -> String {
        if let Some(open) = &self.open
            && open.is_reasoning == is_reasoning
        {
            return open.id.clone();
        }
        self.close(events);
        let id = self.next_id();
        let message_id = id.clone();
        if is_reasoning {
            events.push(RunEvent::ReasoningStart {
                message_id: id.clone(),
            });
            events.push(RunEvent::ReasoningMessageStart {
                message_id,
                role: "reasoning",
            });
        } else {
            self.text = Some(id.clone());
            events.push(RunEvent::TextMessageStart {
                message_id,
                role: "assistant",
            });
        }
        self.open = Some(OpenMessage {
            id: id.clone(),
            is_reasoning,
        });
        id
    }

    fn close(&mut self, events: &mut Vec<RunEvent>) {
        let Some(open) = self.open.take() else { return };
        let message_id = open.id;
        if open.is_reasoning {
            events.push(RunEvent::ReasoningMessageEnd {
                message_id: message_id.clone(),
            });
            events.push(RunEvent::ReasoningEnd { message_id });
        } else {
            events.push(RunEvent::TextMessageEnd { message_id });
        }
    }

    /// Returns true for a call whose beginning the front end knows from an earlier run. It has not
    /// seen the calls that tools have made, one of which may be the call that was decided on.
    fn has_begun(&self, call_id: &str) -> bool {
        self.runs_decided_calls && (self.known_calls.contains(call_id) || !is_nested(call_id))
    }

    fn begin_call(
        &mut self,
        call_id: &str,
        tool: String,
        arguments: String,
        events: &mut Vec<RunEvent>,
    ) {
        let parent = match self.parent.clone() {
            Some(parent) => parent,
            None => self.next_id(),
        };
        self.parent = Some(parent.clone());
        events.push(RunEvent::ToolCallStart {
            tool_call_id: call_id.to_owned(),
            tool_call_name: tool,
            parent_message_id: parent,
        });
        if !arguments.is_empty() {
            events.push(RunEvent::ToolCallArgs {
                tool_call_id: call_id.to_owned(),
                delta: arguments,
            });
        }
        events.push(RunEvent::ToolCallEnd {
            tool_call_id: call_id.to_owned(),
        });
    }

    fn result(&mut self, tool_call_id: String, response: &ToolResponse) -> RunEvent {
        RunEvent::ToolCallResult {
            message_id: self.next_id(),
            tool_call_id,
            content: text_of(response),
            role: "tool",
        }
    }

    /// Ends the run. One in which calls wait for approval ends with them, however the reply has ended:
    /// they wait on, and their tokens come in no other run.
    fn end(&mut self, reply: &Reply, events: &mut Vec<RunEvent>) {
        let usage = usage_of(reply.usage);
        let error = reply.error_for_user();
        let error = error.filter(|_| reply.finish == ReplyFinish::Failed);
        if let Some(error) = error {
            if self.approvals.is_empty() {
                self.close(events);
                events.push(RunEvent::RunError {
                    message: error.message,
                    code: error.kind.as_str(),
                    usage,
                });
                return;
            }
            self.show(error.message, events);
        }
        self.close(events);

        let outcome = if !self.approvals.is_empty() {
            let interrupts = self.approvals.iter().map(interrupt).collect::<Vec<_>>();
            json!({"type": "interrupt", "interrupts": interrupts})
        } else if reply.finish == ReplyFinish::Interrupted {
            json!({"type": "cancelled"})
        } else {
            json!({"type": "success"})
        };
        events.push(RunEvent::RunFinished {
            thread_id: self.thread_id.clone(),
            run_id: self.run_id.clone(),
            outcome,
            usage,
        });
    }

    /// Shows a text of its own, which every front end shows.
    fn show(&mut self, text: String, events: &mut Vec<RunEvent>) {
        self.close(events);
        let message_id = self.open(false, events);
        events.push(RunEvent::TextMessageContent {
            message_id,
            delta: text,
        });
        self.close(events);
    }

    fn next_id(&mut self) -> String {
        self.messages += 1;
        format!("{}-{}", self.run_id, self.messages)
    }
}

/// Returns true for the id of a call that a tool has made: that of its own call, and a number.
fn is_nested(call_id: &str) -> bool {
    let Some((_, number)) = call_id.rsplit_once('.') else {
        return false;
    };
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

fn interrupt(wanted: &ApprovalWanted) -> Value {
    json!({
        "id": wanted.confirmation.token,
        "reason": "tool_approval",
        "message": wanted.payload,
        "toolCallId": wanted.call_id,
        "expiresAt": wanted.confirmation.expires_at,
        "responseSchema": {
            "type": "object",
            "properties": {
                "approved": {"type": "boolean"},
                "editedArgs": {"type": "object", "description": "The arguments to run, if they are others."},
            },
            "required": ["approved"],
        },
        "metadata": {
            "digest": wanted.confirmation.digest,
            "tool": wanted.confirmation.tool,
            "arguments": wanted.confirmation.arguments,
            "reasons": wanted.confirmation.reasons,
        },
    })
}

fn text_of(response: &ToolResponse) -> String {
    response.for_model(ResultForm::Plain).text
}

/// Returns the tokens as the protocol counts them; nothing if there are none.
fn usage_of(usage: TokenUsage) -> Vec<Value> {
    if usage.is_empty() {
        return Vec::new();
    }
    vec![json!({
        "inputTokens": usage.input,
        "outputTokens": usage.output,
        "totalTokens": usage.total(),
        "reasoningTokens": usage.reasoning,
        "cachedInputTokens": usage.cached,
        "cacheWriteInputTokens": usage.cache_written,
    })]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::AgentLoop;
    use futures_util::StreamExt;
    use tool_core::session::{GuardedInput, Guards, HandoffAgent, InputVerdict, ModelStep};
    use tool_core::testing::ScriptedModel;
    use tool_core::{
        Handoff, Mode, Policy, RunContext, Runtime, ToolCall, ToolContext, ToolError, tool,
    };

    /// Look a table up.
    #[tool]
    fn find_table(ctx: &RunContext, seats: u32) -> u32 {
        ctx.update("looking");
        seats + 1
    }

    /// Cancel the guest's booking.
    #[tool(category = "action", confirm)]
    async fn cancel_booking(number: u32) -> String {
        format!("booking {number} is cancelled")
    }

    /// Clear the calendar.
    #[tool]
    async fn clear_calendar(ctx: &RunContext) -> &'static str {
        let arguments = json!({"number": 12});
        let _ = ctx.call("cancel_booking", arguments.to_string()).await;
        "a person is asked"
    }

    async fn agent(script: ScriptedModel) -> AgentLoop<ScriptedModel> {
        let tools = ToolContext::builder()
            .with(find_table)
            .with(cancel_booking)
            .with(clear_calendar)
            .build()
            .expect("builds");
        let runtime = Runtime::builder(tools).policy(Policy::text()).build();
        let session = runtime.expect("builds").session("s-1", Mode::Text);
        AgentLoop::new(session.await.expect("opens"), script)
    }

    async fn run(agent: &mut AgentLoop<ScriptedModel>, input: Value) -> Vec<Value> {
        let run = RunInput::from_json(input.to_string().as_bytes()).expect("an input");
        let reply = agent.stream(run.agent_input().expect("an input"));
        let events = RunStream::new(reply, &run)
            .map(|event| serde_json::to_value(event).expect("serialises"));
        events.collect().await
    }

    fn says(text: &str) -> Value {
        let message = json!({"id": "m-1", "role": "user", "content": text});
        json!({"threadId": "t", "runId": "r", "messages": [message]})
    }

    fn types(events: &[Value]) -> Vec<&str> {
        let types = events.iter().map(|event| event["type"].as_str());
        types.map(Option::unwrap_or_default).collect()
    }

    fn cancelling() -> ToolCall {
        ToolCall::new("c1", "cancel_booking", json!({"number": 12}))
    }

    #[tokio::test]
    async fn each_event_has_its_form_in_the_protocol() {
        let step = ModelStep {
            text: Some("Wait.".into()),
            usage: TokenUsage {
                input: 10,
                output: 5,
                ..TokenUsage::default()
            },
            ..ModelStep::calls([ToolCall::new("c1", "find_table", json!({"seats": 2}))])
        };
        let mut agent = agent(ScriptedModel::new().then(step).says("Table 3.")).await;
        let events = run(&mut agent, says("For two?")).await;
        let wanted = [
            "RUN_STARTED",
            "TEXT_MESSAGE_START",
            "TEXT_MESSAGE_CONTENT",
            "TEXT_MESSAGE_END",
            "TOOL_CALL_START",
            "TOOL_CALL_ARGS",
            "TOOL_CALL_END",
            "ACTIVITY_SNAPSHOT",
            "TOOL_CALL_RESULT",
            "TEXT_MESSAGE_START",
            "TEXT_MESSAGE_CONTENT",
            "TEXT_MESSAGE_CONTENT",
            "TEXT_MESSAGE_END",
            "RUN_FINISHED",
        ];
        assert_eq!(types(&events), wanted);
        assert_eq!(events[4]["parentMessageId"], events[1]["messageId"]);
        assert_ne!(events[9]["messageId"], events[1]["messageId"]);
        assert_eq!(events[8]["content"], "3");
        assert_eq!(events[13]["outcome"], json!({"type": "success"}));
        assert_eq!(events[13]["usage"][0]["totalTokens"], 15);
    }

    /// Hand the guest over.
    #[tool]
    fn to_billing() -> Handoff {
        Handoff::to("billing")
    }

    #[tokio::test]
    async fn a_handoff_is_an_event_of_its_own() {
        let tools = ToolContext::builder().with(to_billing).build();
        let runtime = Runtime::builder(tools.expect("builds")).build();
        let session = runtime.expect("builds").session("s-1", Mode::Text);
        let script = ScriptedModel::new()
            .calls([ToolCall::new("c1", "to_billing", "{}")])
            .says("Yes?");
        let agent = AgentLoop::new(session.await.expect("opens"), script);
        let mut agent = agent.agent("billing", HandoffAgent::with_all_tools());
        let events = run(&mut agent, says("My bill?")).await;
        let told = events.iter().find(|event| event["type"] == "CUSTOM");
        let told = told.expect("an event");
        assert_eq!(told["name"], "handoff");
        assert_eq!(told["value"], json!({"from": "agent", "to": "billing"}));
    }

    #[tokio::test]
    async fn a_refusal_of_a_guard_is_a_text() {
        let guards = Guards::new()
            .input(async |_: GuardedInput<'_>| Ok(InputVerdict::Refuse("Not here.".into())));
        let tools = ToolContext::builder().build().expect("builds");
        let runtime = Runtime::builder(tools).guards(guards).build();
        let session = runtime.expect("builds").session("s-1", Mode::Text);
        let mut agent = AgentLoop::new(session.await.expect("opens"), ScriptedModel::new());
        let events = run(&mut agent, says("Hi")).await;
        let wanted = [
            "RUN_STARTED",
            "TEXT_MESSAGE_START",
            "TEXT_MESSAGE_CONTENT",
            "TEXT_MESSAGE_END",
            "RUN_FINISHED",
        ];
        assert_eq!(types(&events), wanted);
        assert_eq!(events[2]["delta"], "Not here.");
    }

    #[tokio::test]
    async fn calls_of_one_step_have_one_parent() {
        let calls = ["c1", "c2"].map(|id| ToolCall::new(id, "find_table", json!({"seats": 2})));
        let mut agent = agent(ScriptedModel::new().calls(calls).says("Done.")).await;
        let events = run(&mut agent, says("Twice")).await;
        let parents = events
            .iter()
            .filter(|event| event["type"] == "TOOL_CALL_START");
        let parents = parents.map(|event| &event["parentMessageId"]);
        let parents = parents.collect::<Vec<_>>();
        assert_eq!(parents[0], parents[1]);
    }

    #[tokio::test]
    async fn a_call_that_waits_interrupts_the_run() {
        let mut agent = agent(ScriptedModel::new().calls([cancelling()]).says("Shall I?")).await;
        let events = run(&mut agent, says("Cancel 12")).await;
        assert!(!types(&events).contains(&"TOOL_CALL_RESULT"), "{events:#?}");
        let outcome = &events.last().expect("an end")["outcome"];
        assert_eq!(outcome["type"], "interrupt");
        assert_eq!(outcome["interrupts"][0]["toolCallId"], "c1");
        let message = outcome["interrupts"][0]["message"].as_str();
        assert_eq!(message, Some(r#"cancel_booking({"number":12})"#));
        let metadata = &outcome["interrupts"][0]["metadata"];
        assert_eq!(metadata["arguments"], json!(["number: 12"]));
        assert_eq!(metadata["reasons"][0]["source"], "tool");
    }

    #[tokio::test]
    async fn an_answer_to_an_interrupt_gives_the_result() {
        let script = ScriptedModel::new()
            .calls([cancelling()])
            .says("Shall I?")
            .says("Done.");
        let mut agent = agent(script).await;
        let events = run(&mut agent, says("Cancel 12")).await;
        let interrupt = &events.last().expect("an end")["outcome"]["interrupts"][0];
        let answer = json!({"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": true}});
        let resumed = json!({"threadId": "t", "runId": "r2", "messages": [], "resume": [answer]});
        let events = run(&mut agent, resumed).await;
        let wanted = [
            "RUN_STARTED",
            "TOOL_CALL_RESULT",
            "TEXT_MESSAGE_START",
            "TEXT_MESSAGE_CONTENT",
            "TEXT_MESSAGE_END",
            "RUN_FINISHED",
        ];
        assert_eq!(types(&events), wanted);
        assert_eq!(events[1]["toolCallId"], "c1");
    }

    /// Returns the request that answers the only interrupt of a run.
    fn answers(events: &[Value], status: &str, payload: &Value) -> Value {
        let outcome = &events.last().expect("an end")["outcome"];
        let id = &outcome["interrupts"][0]["id"];
        let answer = json!({"interruptId": id, "status": status, "payload": payload});
        json!({"threadId": "t", "runId": "r2", "messages": [], "resume": [answer]})
    }

    #[tokio::test]
    async fn an_interrupt_with_invalid_arguments_comes_again() {
        let script = ScriptedModel::new()
            .calls([cancelling()])
            .says("Shall I?")
            .says("Done.");
        let mut agent = agent(script).await;
        let asked = run(&mut agent, says("Cancel 12")).await;
        let edited = json!({"approved": true, "editedArgs": {"number": "many"}});
        let again = run(&mut agent, answers(&asked, "resolved", &edited)).await;
        let interrupts =
            |events: &[Value]| events.last().expect("an end")["outcome"]["interrupts"].clone();
        assert_eq!(interrupts(&again), interrupts(&asked));
        assert_eq!(interrupts(&again).as_array().map(Vec::len), Some(1));

        let edited = json!({"approved": true, "editedArgs": {"number": 13}});
        let done = run(&mut agent, answers(&again, "resolved", &edited)).await;
        assert_eq!(done[1]["content"], "booking 13 is cancelled");
    }

    #[tokio::test]
    async fn an_interrupt_that_waits_no_more_can_be_cancelled() {
        let script = ScriptedModel::new()
            .calls([cancelling()])
            .says("Shall I?")
            .says("Done.")
            .says("Yes?");
        let mut agent = agent(script).await;
        let asked = run(&mut agent, says("Cancel 12")).await;
        let approved = answers(&asked, "resolved", &json!(true));
        run(&mut agent, approved.clone()).await;
        let again = run(&mut agent, approved).await;
        assert_eq!(types(&again), ["RUN_STARTED", "RUN_ERROR"]);

        let mut cancelled = answers(&asked, "cancelled", &Value::Null);
        let events = run(&mut agent, cancelled.clone()).await;
        assert_eq!(types(&events), ["RUN_STARTED", "RUN_FINISHED"]);
        assert_eq!(events[1]["outcome"]["type"], "success");

        cancelled["messages"] = says("Hello?")["messages"].clone();
        let events = run(&mut agent, cancelled).await;
        assert_eq!(events[2]["delta"], "Yes?", "{events:#?}");
    }

    #[tokio::test]
    async fn the_call_of_a_tool_begins_in_the_run_that_decides() {
        let script = ScriptedModel::new()
            .calls([ToolCall::new("c1", "clear_calendar", "{}")])
            .says("Shall I?")
            .says("Done.");
        let mut agent = agent(script).await;
        let asked = run(&mut agent, says("Clear it")).await;
        assert!(types(&asked).contains(&"TOOL_CALL_RESULT"), "{asked:#?}");
        let events = run(&mut agent, answers(&asked, "resolved", &json!(true))).await;
        let wanted = [
            "RUN_STARTED",
            "TOOL_CALL_START",
            "TOOL_CALL_ARGS",
            "TOOL_CALL_END",
            "TOOL_CALL_RESULT",
        ];
        assert_eq!(types(&events)[..5], wanted);
        assert_eq!(events[1]["toolCallId"], "c1.1");
        assert_eq!(events[4]["toolCallId"], "c1.1");
    }

    #[tokio::test]
    async fn approvals_of_a_failed_reply_are_interrupts() {
        let overloaded = ToolError::transient("db-17 is overloaded");
        let script = ScriptedModel::new().calls([cancelling()]);
        let mut agent = agent(script.fails(overloaded)).await;
        let events = run(&mut agent, says("Cancel 12")).await;
        let end = events.last().expect("an end");
        assert_eq!(end["type"], "RUN_FINISHED");
        assert_eq!(end["outcome"]["interrupts"][0]["toolCallId"], "c1");
        let told = "the assistant cannot answer at the moment; try again";
        let is_told = |event: &Value| event["delta"] == told;
        assert!(events.iter().any(is_told), "{events:#?}");
    }

    #[test]
    fn approvals_of_an_interrupted_reply_are_interrupts() {
        let wanted = json!({
            "callId": "c1", "payload": "cancel_booking({})", "token": "t", "expiresAt": "2026-01-01T00:00:00Z",
            "digest": "d", "tool": "cancel_booking", "arguments": [], "reasons": [], "summary": "",
        });
        let wanted = serde_json::from_value(wanted).expect("an approval");
        let mut run = RunState::default();
        run.translate(AgentEvent::ApprovalWanted(wanted));
        let mut reply = Reply::default();
        reply.finish = ReplyFinish::Interrupted;
        let events = run.translate(AgentEvent::Finished {
            reply: Box::new(reply),
        });
        let end = serde_json::to_value(&events[0]).expect("serialises");
        assert_eq!(end["outcome"]["type"], "interrupt");
    }

    #[tokio::test]
    async fn calls_behind_one_that_waits_have_their_own_parent() {
        let found = ToolCall::new("c2", "find_table", json!({"seats": 2}));
        let script = ScriptedModel::new()
            .calls([cancelling()])
            .calls([found])
            .says("Shall I?");
        let events = run(&mut agent(script).await, says("Cancel 12")).await;
        let begun = events.iter();
        let begun = begun.filter(|event| event["type"] == "TOOL_CALL_START");
        let parents = begun.map(|event| &event["parentMessageId"]);
        let parents = parents.collect::<Vec<_>>();
        assert_ne!(parents[0], parents[1]);
    }

    #[tokio::test]
    async fn a_failed_reply_is_a_run_error_without_internal_texts() {
        let script = ScriptedModel::new().fails(ToolError::transient("db-17 is overloaded"));
        let events = run(&mut agent(script).await, says("Hi")).await;
        assert_eq!(types(&events), ["RUN_STARTED", "RUN_ERROR"]);
        assert_eq!(events[1]["code"], "TRANSIENT");
        let message = "the assistant cannot answer at the moment; try again";
        assert_eq!(events[1]["message"], message);
    }

    #[test]
    fn reasoning_is_closed_before_the_text() {
        let mut run = RunState::default();
        let mut events = run.translate(AgentEvent::Reasoning { delta: "hm".into() });
        events.extend(run.translate(AgentEvent::Text { delta: "Hi".into() }));
        let json = events
            .iter()
            .map(|event| serde_json::to_value(event).expect("serialises"));
        let wanted = [
            "REASONING_START",
            "REASONING_MESSAGE_START",
            "REASONING_MESSAGE_CONTENT",
            "REASONING_MESSAGE_END",
            "REASONING_END",
            "TEXT_MESSAGE_START",
            "TEXT_MESSAGE_CONTENT",
        ];
        assert_eq!(types(&json.collect::<Vec<_>>()), wanted);
    }
}
