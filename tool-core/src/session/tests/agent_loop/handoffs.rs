//! Handoffs of a conversation from one agent to another.

use crate::call::RunContext;
use crate::call::error::ErrorKind;
use crate::call::handoff::Handoff;
use crate::call::mode::Mode;
use crate::call::response::ToolResponse;
use crate::call::tool_call::ToolCall;
use crate::registry::ToolContext;
use crate::session::agent_event::AgentEvent;
use crate::session::agent_loop::ReplyOptions;
use crate::session::agent_stream::AgentStream;
use crate::session::handle::Session;
use crate::session::handoffs::{HandoffAgent, Handoffs};
use crate::session::history::History;
use crate::session::message::Message;
use crate::session::policy::Policy;
use crate::session::reply::Reply;
use crate::session::runtime::Runtime;
use crate::session::tests::agent_loop::{finished, results};
use crate::testing::scripted::{RecordedRequest, ScriptedModel};
use futures_util::StreamExt;
use serde_json::json;
use tool_macros::tool;

/// Hand over to an agent.
#[tool(name = "hand_to_in_handoff_tests")]
fn hand_to(agent: String, message: Option<String>) -> Handoff {
    let handoff = Handoff::to(agent);
    match message {
        Some(message) => handoff.message(message),
        None => handoff,
    }
}

/// Hand over to billing, if a person agrees.
#[tool(name = "ask_billing_in_handoff_tests", confirm)]
fn ask_billing() -> Handoff {
    Handoff::to("billing")
}

/// Hand over by another tool.
#[tool(name = "delegate_in_handoff_tests")]
async fn delegate(ctx: &RunContext) -> bool {
    let handed = ctx.call(HAND_TO, json!({"agent": "billing"}));
    handed.await.is_ok()
}

/// Read a bill.
#[tool(
    name = "bill_in_handoff_tests",
    guide = "src/session/tests/agent_loop/echo.md"
)]
fn bill(number: u32) -> u32 {
    number
}

const HAND_TO: &str = "hand_to_in_handoff_tests";
const BILL: &str = "bill_in_handoff_tests";

fn session() -> Session {
    let tools = ToolContext::builder()
        .with(hand_to)
        .with(ask_billing)
        .with(delegate)
        .with(bill)
        .build();
    let policy = Policy::text().max_tool_steps(20).repeated_calls(None);
    let runtime = Runtime::builder(tools.expect("sound")).policy(policy);
    let runtime = runtime.build().expect("sound");
    finished(runtime.session("s", Mode::Text).into_future()).expect("a session")
}

fn agents() -> Handoffs {
    let desk = ToolContext::builder()
        .with(hand_to)
        .with(ask_billing)
        .with(delegate);
    let billing = ToolContext::builder().with(hand_to).with(bill);
    let desk = HandoffAgent::new(&desk.build().expect("sound"));
    let billing = HandoffAgent::new(&billing.build().expect("sound"));
    Handoffs::new("desk", desk.instructions("You are at the desk."))
        .agent("billing", billing.instructions("You know the bills."))
}

fn handing(id: &str, agent: &str) -> ToolCall {
    ToolCall::new(id, HAND_TO, json!({"agent": agent}))
}

fn billing(id: &str) -> ToolCall {
    ToolCall::new(id, BILL, json!({"number": 7}))
}

/// A conversation, and what came of its last reply.
struct Talk {
    session: Session,
    agents: Handoffs,
    history: History,
    requests: Vec<RecordedRequest>,
}

impl Talk {
    fn new() -> Self {
        Self {
            session: session(),
            agents: agents(),
            history: History::new(),
            requests: Vec::new(),
        }
    }

    fn ask(&mut self, mut model: ScriptedModel) -> Reply {
        let options = ReplyOptions::new("hello").handoffs(&self.agents);
        let reply = self
            .session
            .reply_with_options(&mut model, &mut self.history, options);
        let reply = finished(reply);
        self.requests = model.requests().to_vec();
        reply
    }
}

// M16
#[test]
fn the_next_agent_has_its_instructions_and_its_tools() {
    let mut talk = Talk::new();
    let script = ScriptedModel::new()
        .calls([handing("c1", "billing")])
        .calls([billing("c2")])
        .says("It is paid.");
    let reply = talk.ask(script);
    assert_eq!(reply.text.as_deref(), Some("It is paid."));
    assert_eq!(talk.agents.active(), "billing");
    let [first, second, _] = talk.requests.as_slice() else {
        panic!("{:?}", talk.requests);
    };
    assert_eq!(first.instructions, "You are at the desk.");
    assert!(first.tools.iter().all(|tool| tool != BILL));
    assert!(
        second
            .instructions
            .starts_with("You know the bills.\n\n# Tools")
    );
    assert_eq!(second.tools, [HAND_TO, BILL]);
}

// M16
#[test]
fn the_conversation_stays_after_a_handoff() {
    let mut talk = Talk::new();
    let call = ToolCall::new(
        "c1",
        HAND_TO,
        json!({"agent": "billing", "message": "About bill 7."}),
    );
    let _ = talk.ask(ScriptedModel::new().calls([call]).says("Bill 7?"));
    let read = &talk.requests[1].history;
    assert_eq!(read[0], Message::user("hello"));
    assert!(matches!(&read[2], Message::Result { result, .. } if result.text == "About bill 7."));
    let note = "[Note by the application, not said by the user] The conversation was handed over to the agent `billing`, \
                which is you from now on.";
    assert_eq!(read[3], Message::user(note));
    assert!(talk.history.check().is_empty());
}

#[test]
fn the_next_turn_begins_with_the_agent_that_spoke_last() {
    let mut talk = Talk::new();
    let _ = talk.ask(
        ScriptedModel::new()
            .calls([handing("c1", "billing")])
            .says("Yes?"),
    );
    finished(talk.session.next_turn());
    let _ = talk.ask(ScriptedModel::new().says("Again?"));
    assert!(
        talk.requests[0]
            .instructions
            .starts_with("You know the bills.")
    );
}

// M16
#[test]
fn a_history_says_which_agent_spoke_last() {
    let mut talk = Talk::new();
    let _ = talk.ask(
        ScriptedModel::new()
            .calls([handing("c1", "billing")])
            .says("Yes?"),
    );
    let stored = talk.history.to_json();
    let history = History::from_json(&stored).expect("reads");
    let later = agents();
    later.resume(history.messages());
    assert_eq!(later.active(), "billing");

    finished(talk.session.next_turn());
    let _ = talk.ask(
        ScriptedModel::new()
            .calls([handing("c2", "desk")])
            .says("Yes?"),
    );
    later.resume(talk.history.messages());
    assert_eq!(later.active(), "desk");
}

#[test]
fn the_words_of_a_user_hand_nothing_over() {
    let mut talk = Talk::new();
    let _ = talk.ask(
        ScriptedModel::new()
            .calls([handing("c1", "billing")])
            .says("Yes?"),
    );
    let Message::User(note) = talk.history.messages()[3].clone() else {
        panic!("no note");
    };
    let mut other = Talk::new();
    let mut model = ScriptedModel::new().says("No.");
    let options = ReplyOptions::new(note).handoffs(&other.agents);
    let _ = finished(
        other
            .session
            .reply_with_options(&mut model, &mut other.history, options),
    );
    other.agents.resume(other.history.messages());
    assert_eq!(other.agents.active(), "desk");
}

// M16
#[test]
fn an_unknown_agent_is_an_error_with_the_known_ones() {
    let mut talk = Talk::new();
    let reply = talk.ask(
        ScriptedModel::new()
            .calls([handing("c1", "kitchen")])
            .says("No."),
    );
    let error = reply.responses[0].error().expect("no such agent");
    let wanted =
        "there is no agent `kitchen` to hand the conversation to; the agents are: desk, billing";
    assert_eq!(error.message, wanted);
    assert_eq!(results(&talk.history), [("c1", wanted, true)]);
    assert_eq!(talk.agents.active(), "desk");
}

#[test]
fn an_agent_cannot_hand_over_to_itself() {
    let mut talk = Talk::new();
    let reply = talk.ask(
        ScriptedModel::new()
            .calls([handing("c1", "desk")])
            .says("Ok."),
    );
    let error = reply.responses[0].error().expect("an error");
    assert_eq!(
        error.message,
        "`desk` has the conversation already; go on yourself"
    );
}

// M16
#[test]
fn the_second_handoff_of_a_step_is_an_error() {
    let mut talk = Talk::new();
    let calls = [handing("c1", "billing"), handing("c2", "billing")];
    let reply = talk.ask(ScriptedModel::new().calls(calls).says("Yes?"));
    assert!(reply.responses[0].is_ok());
    let error = reply.responses[1].error().expect("the second");
    assert!(
        error.message.contains("another call of this step"),
        "{error:?}"
    );
    assert_eq!(talk.agents.active(), "billing");
}

fn to_and_fro(script: ScriptedModel, handoffs: usize) -> ScriptedModel {
    (0..handoffs).fold(script, |script, at| {
        let agent = if at % 2 == 0 { "billing" } else { "desk" };
        script.calls([handing("", agent)])
    })
}

// M16
#[test]
fn handoffs_to_and_fro_end_with_an_error() {
    let mut talk = Talk::new();
    let reply = talk.ask(to_and_fro(ScriptedModel::new(), 5).says("I am sorry."));
    assert!(reply.responses[..4].iter().all(ToolResponse::is_ok));
    let error = reply.responses[4].error().expect("one too many");
    assert!(error.message.contains("4 times in this turn"), "{error:?}");
    assert_eq!(talk.agents.active(), "desk");

    finished(talk.session.next_turn());
    let reply = talk.ask(to_and_fro(ScriptedModel::new(), 1).says("Yes?"));
    assert!(reply.responses[0].is_ok(), "a turn begins anew");
}

#[test]
fn the_number_of_handoffs_of_a_turn_is_configurable() {
    let mut talk = Talk::new();
    talk.agents = agents().max_per_turn(1);
    let reply = talk.ask(to_and_fro(ScriptedModel::new(), 2).says("I am sorry."));
    assert!(reply.responses[1].error().is_some());
}

// M16
#[test]
fn an_agent_calls_no_tool_of_another() {
    let mut talk = Talk::new();
    let calls = [billing("c1"), handing("c2", "billing")];
    let reply = talk.ask(ScriptedModel::new().calls(calls).says("Yes?"));
    let error = reply.responses[0].error().expect("it has no such tool");
    assert_eq!(error.kind, ErrorKind::NotFound);
    assert!(
        error.message.starts_with("the agent `desk` has no tool"),
        "{error:?}"
    );
    assert!(reply.responses[1].is_ok());
    let audit = finished(talk.session.audit()).expect("an audit");
    assert_eq!(audit.len(), 2, "{audit:?}");
}

#[test]
fn a_call_that_a_tool_makes_hands_nothing_over() {
    let mut talk = Talk::new();
    let call = ToolCall::new("c1", "delegate_in_handoff_tests", "{}");
    let _ = talk.ask(ScriptedModel::new().calls([call]).says("Ok."));
    assert_eq!(talk.agents.active(), "desk");
}

#[test]
fn without_other_agents_a_handoff_is_an_error() {
    let mut model = ScriptedModel::new()
        .calls([handing("c1", "billing")])
        .says("No.");
    let mut history = History::new();
    let reply = finished(session().reply(&mut model, &mut history, "hello"));
    let error = reply.responses[0].error().expect("an error");
    assert!(error.message.contains("no other agents"), "{error:?}");
}

// M16
#[tokio::test]
async fn an_approved_call_hands_the_conversation_over() {
    let mut talk = Talk::new();
    let call = ToolCall::new("c1", "ask_billing_in_handoff_tests", "{}");
    let reply = talk.ask(ScriptedModel::new().calls([call]).says("Shall I?"));
    assert_eq!(talk.agents.active(), "desk");
    let token = reply.confirmations().next().expect("waits").token.clone();
    let response = finished(talk.session.approve(&token));
    let note = talk.agents.take(talk.session.turn(), &response);
    talk.history.push(note.expect("a handoff"));
    assert_eq!(talk.agents.active(), "billing");
    let _ = talk.ask(ScriptedModel::new().says("Yes?"));
    assert!(
        talk.requests[0]
            .instructions
            .starts_with("You know the bills.")
    );
}

#[tokio::test]
async fn an_approved_handoff_to_no_one_says_so() {
    let mut talk = Talk::new();
    let call = ToolCall::new("c1", "ask_billing_in_handoff_tests", "{}");
    let reply = talk.ask(ScriptedModel::new().calls([call]).says("Shall I?"));
    let token = reply.confirmations().next().expect("waits").token.clone();
    let response = finished(talk.session.approve(&token));
    let desk = Handoffs::new("desk", HandoffAgent::with_all_tools());
    let Some(Message::User(note)) = desk.take(0, &response) else {
        panic!("no note");
    };
    assert!(
        note.text()
            .contains("was not handed over: there is no agent `billing`")
    );
}

// M16
#[test]
fn a_stream_tells_of_a_handoff_between_two_steps() {
    let session = session();
    let agents = agents();
    let mut history = History::new();
    let mut model = ScriptedModel::new()
        .calls([handing("c1", "billing")])
        .says("Yes?");
    let stream = AgentStream::new(|events| {
        let options = ReplyOptions::new("hello").handoffs(&agents).events(events);
        session.reply_with_options(&mut model, &mut history, options)
    });
    let events = finished(stream.collect::<Vec<_>>());
    let wanted = AgentEvent::Handoff {
        from: "desk".into(),
        to: "billing".into(),
    };
    assert!(
        matches!(events[3], AgentEvent::CallResult { .. }),
        "{events:#?}"
    );
    assert_eq!(events[4], wanted);
    assert!(matches!(events[5], AgentEvent::Text { .. }), "{events:#?}");
}

#[test]
fn a_response_that_is_read_back_hands_nothing_over() {
    let session = session();
    let response = finished(session.call(handing("c1", "billing")));
    assert_eq!(response.meta().handoff(), Some("billing"));
    let json = response.to_json();
    assert!(!json.contains("handoff\":"), "{json}");
}
