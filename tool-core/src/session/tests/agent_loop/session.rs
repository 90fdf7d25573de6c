//! The agent loop over a session of a runtime.

use crate::call::RunContext;
use crate::call::error::{ErrorKind, ToolError};
use crate::call::mode::Mode;
use crate::call::response::ResultForm;
use crate::call::tool_call::ToolCall;
use crate::registry::ToolContext;
use crate::session::handle::Session;
use crate::session::history::History;
use crate::session::model::ToolChoice;
use crate::session::policy::Policy;
use crate::session::runtime::Runtime;
use crate::session::tests::agent_loop::{
    ECHO, HUSH, WAIT, called, echo, hush, poll, results, say, wait,
};
use crate::testing::scripted::ScriptedModel;
use crate::tool::{FunctionTool, RawTool};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::Barrier;
use tool_macros::tool;

/// A tool whose calls wait for each other.
struct Meeting(Arc<Barrier>);

#[tool_macros::toolset(name = "meeting_in_reply_tests", discover = false)]
impl Meeting {
    /// Wait for another call.
    #[tool(name = "meet_in_reply_tests")]
    async fn meet(&self, name: String) -> String {
        self.0.wait().await;
        name
    }
}

/// Delete everything.
#[tool(name = "wipe_in_reply_tests", confirm)]
fn wipe(#[arg(default = 7)] days: u32) -> u32 {
    days
}

/// Speak.
#[tool(name = "speak_in_reply_tests", modes("voice"))]
fn speak() {}

const MEET: &str = "meet_in_reply_tests";
const WIPE: &str = "wipe_in_reply_tests";
const SPEAK: &str = "speak_in_reply_tests";

async fn session(policy: Policy) -> Session {
    let meeting = Meeting(Arc::new(Barrier::new(2)));
    let tools = ToolContext::builder()
        .with(echo)
        .with(hush)
        .with(wait)
        .with(wipe)
        .with(speak)
        .with(meeting);
    let runtime = Runtime::builder(tools.build().expect("sound"))
        .policy(policy)
        .build()
        .expect("sound");
    runtime.session("s", Mode::Text).await.expect("a session")
}

fn meet(id: &str, name: &str) -> ToolCall {
    ToolCall::new(id, MEET, serde_json::json!({"name": name}))
}

// L22
#[tokio::test]
async fn calls_of_a_step_run_concurrently() {
    let session = session(Policy::text()).await;
    let mut model = ScriptedModel::new()
        .calls([meet("1", "Ada"), meet("2", "Bob")])
        .says("they met");
    let mut history = History::new();
    let reply = session.reply(&mut model, &mut history, "hello").await;
    assert_eq!(reply.text.as_deref(), Some("they met"));
    assert_eq!(
        results(&history),
        [("1", "Ada", false), ("2", "Bob", false)]
    );
}

// L21
#[tokio::test]
async fn policy_limits_the_steps() {
    let session = session(Policy::text().max_tool_steps(1)).await;
    let mut model = ScriptedModel::new().calls([say("1", "a")]).says("done");
    let mut history = History::new();
    let reply = session.reply(&mut model, &mut history, "hello").await;
    assert_eq!(
        (reply.text.as_deref(), model.requests()[1].tool_choice),
        (Some("done"), ToolChoice::None)
    );
}

// L18
#[tokio::test]
async fn stop_output_ends_the_reply() {
    let session = session(Policy::text()).await;
    let mut model = ScriptedModel::new().calls([ToolCall::new("1", HUSH, "{}")]);
    let mut history = History::new();
    assert_eq!(
        session.reply(&mut model, &mut history, "hello").await.text,
        None
    );
    assert_eq!(results(&history), [("1", "", false)]);
}

// L22
#[tokio::test]
async fn dropped_reply_keeps_finished_results() {
    let session = session(Policy::text()).await;
    let calls = [
        ToolCall::new("1", WAIT, "{}"),
        say("2", "a"),
        ToolCall::new("", WAIT, "{}"),
    ];
    let mut model = ScriptedModel::new().calls(calls);
    let mut history = History::new();
    {
        let mut work = Box::pin(session.reply(&mut model, &mut history, "hello"));
        assert!(poll(work.as_mut()).is_pending());
    }
    let found = results(&history);
    assert_eq!(
        found.iter().map(|result| result.2).collect::<Vec<_>>(),
        [true, false, true],
        "{found:?}"
    );
    assert_eq!(found[1], ("2", "a", false));
    assert_eq!(
        called(&history)
            .iter()
            .map(|call| call.id())
            .collect::<Vec<_>>(),
        ["1", "2", found[2].0]
    );
}

// L22
#[tokio::test]
async fn interruption_ends_the_reply_and_answers_each_call() {
    let session = session(Policy::text()).await;
    let mut model = ScriptedModel::new().calls([ToolCall::new("1", WAIT, "{}"), say("2", "a")]);
    let mut history = History::new();
    let mut work = Box::pin(session.reply(&mut model, &mut history, "hello"));
    assert!(poll(work.as_mut()).is_pending());
    assert_eq!(session.interrupt(), 1);
    let reply = work.await;
    assert!(reply.interrupted && reply.text.is_none());
    let kinds = reply
        .responses
        .iter()
        .map(|response| response.error().map(|error| error.kind))
        .collect::<Vec<_>>();
    assert_eq!(kinds, [Some(ErrorKind::Cancelled), None]);
    assert_eq!(
        results(&history)
            .iter()
            .map(|result| result.0)
            .collect::<Vec<_>>(),
        ["1", "2"]
    );
}

// L22
#[tokio::test]
async fn repeated_id_has_one_answer() {
    let session = session(Policy::text()).await;
    let mut model = ScriptedModel::new()
        .calls([say("1", "a"), say("1", "b")])
        .says("done");
    let mut history = History::new();
    let reply = session.reply(&mut model, &mut history, "hello").await;
    assert_eq!(results(&history), [("1", "a", false)]);
    assert_eq!(called(&history), [&say("1", "a")]);
    assert!(
        reply.responses[0].meta().warnings()[0].contains("had the same id"),
        "{}",
        reply.responses[0]
    );
}

// L29
#[tokio::test]
async fn history_has_arguments_with_defaults() {
    let session = session(Policy::text()).await;
    let mut model = ScriptedModel::new()
        .calls([ToolCall::new("1", WIPE, r#"{ "days": null }"#)])
        .says("?");
    let mut history = History::new();
    _ = session.reply(&mut model, &mut history, "hello").await;
    assert_eq!(called(&history)[0].arguments(), r#"{"days":7}"#);
}

// L3, L29
#[tokio::test]
async fn history_has_no_defaults_of_a_raw_tool() {
    let declared = RawTool {
        name: "note_in_reply_tests".into(),
        description: String::new(),
        parameters: json!({"type": "object", "properties": {"copies": {"default": 1}}}),
    };
    let note = FunctionTool::raw(declared, async |_: Value, _: &RunContext| {
        Ok::<_, ToolError>(Value::Null)
    });
    let tools = ToolContext::builder().with(note).build().expect("sound");
    let runtime = Runtime::builder(tools).build().expect("sound");
    let session = runtime.session("s", Mode::Text).await.expect("opens");
    let mut model = ScriptedModel::new()
        .calls([ToolCall::new("1", "note_in_reply_tests", "{ }")])
        .says("done");
    let mut history = History::new();
    _ = session.reply(&mut model, &mut history, "hello").await;
    assert_eq!(called(&history)[0].arguments(), "{}");
}

// R-C1
#[tokio::test]
async fn model_does_not_see_the_approval_token() {
    let session = session(Policy::text()).await;
    let mut history = History::new().result_form(ResultForm::Envelope);
    let mut model = ScriptedModel::new()
        .calls([ToolCall::new("1", WIPE, "{}")])
        .says("May I?");
    let reply = session.reply(&mut model, &mut history, "hello").await;
    let token = reply.responses[0]
        .meta()
        .confirmation()
        .expect("asks")
        .token
        .clone();
    assert!(!format!("{history:?}").contains(&token) && !format!("{model:?}").contains(&token));
    assert_eq!(session.approve(&token).await.data_json(), Some("7"));
}

// R-B3
#[tokio::test]
async fn hides_tools_of_another_mode() {
    let session = session(Policy::text()).await;
    let mut model = ScriptedModel::new().says("hi");
    let mut history = History::new();
    _ = session.reply(&mut model, &mut history, "hello").await;
    let request = &model.requests()[0];
    assert!(
        request.tools.iter().any(|name| name == ECHO)
            && !request.tools.iter().any(|name| name == SPEAK)
    );
    assert!(request.instructions.contains(ECHO));
}

#[tokio::test]
async fn reply_is_send() {
    let session = session(Policy::text()).await;
    let reply = tokio::spawn(async move {
        let mut model = ScriptedModel::new().says("hi");
        let mut history = History::new();
        session.reply(&mut model, &mut history, "hello").await
    });
    assert_eq!(reply.await.expect("it ends").text.as_deref(), Some("hi"));
}
