//! The lifetime and the tools of a session.

use crate::support::{Counter, OnDrop, call, kind, message, open, renew, runtime, tools};
use crate::support_b::{answer, begin};
use serde_json::json;
use std::time::Duration;
use tokio::time::advance;
use tool_core::session::StateChange;
use tool_core::{
    ErrorKind, Intent, Mode, Policy, RunContext, Runtime, Session, ToolCall, ToolContext,
    ToolOutput, ToolResponse, tool, toolset,
};

#[derive(Clone, Default)]
struct Desk {
    runs: Counter,
    dropped: Counter,
}

#[toolset(name = "desk_in_sessions")]
impl Desk {
    /// Say hello.
    #[tool(name = "greet")]
    fn greet(&self, name: &str) -> String {
        self.runs.add();
        format!("hello {name}")
    }

    /// Wait for ever.
    #[tool(name = "wait", cancellable)]
    async fn wait(&self) {
        let _guard = OnDrop(self.dropped.clone());
        self.runs.add();
        std::future::pending::<()>().await;
    }
}

fn desk(policy: Policy) -> (Runtime, Desk) {
    let desk = Desk::default();
    (runtime(tools![desk.clone()], policy), desk)
}

async fn greet(session: &Session) -> ToolResponse {
    call(session, "greet", json!({"name": "Ada"})).await
}

fn is_over(response: &ToolResponse) -> bool {
    kind(response) == Some(ErrorKind::SessionInactive)
}

// R-I3
#[tokio::test]
async fn a_session_goes_from_turn_to_turn_to_its_end() {
    let (runtime, desk) = desk(Policy::text());
    let session = open(&runtime, "s", Mode::Text).await;
    for number in 0..4 {
        assert_eq!(session.turn(), number);
        assert!(greet(&session).await.is_ok());
        let turn = session.next_turn().await;
        assert_eq!((turn.number, turn.ended), (number + 1, false));
    }
    assert!(!session.state().ended);
    session.end().await;
    assert!(session.state().ended);
    assert_eq!(desk.runs.get(), 4);
}

// R-I3
#[tokio::test]
async fn a_call_on_an_ended_session_does_not_run() {
    let (runtime, desk) = desk(Policy::text());
    let session = open(&runtime, "s", Mode::Text).await;
    session.end().await;
    let late = session
        .call(ToolCall::new("call_7", "greet", json!({"name": "Ada"})))
        .await;
    assert_eq!(
        (kind(&late), desk.runs.get()),
        (Some(ErrorKind::SessionInactive), 0)
    );
    assert_eq!(message(&late), "the session has ended; nothing was done");
    assert_eq!(late.meta().call_id(), Some("call_7"));
    for (tool, arguments) in [
        ("greet", "not JSON"),
        ("no_such_tool", "{}"),
        ("list_running_calls", "{}"),
    ] {
        assert!(
            is_over(&session.call(ToolCall::new("c", tool, arguments)).await),
            "{tool}"
        );
    }
}

// R-I3
#[tokio::test]
async fn ended_session_answers_every_request() {
    let (runtime, _) = desk(Policy::text());
    let session = open(&runtime, "s", Mode::Text).await;
    session.end().await;
    session.end().await;
    let turn = session.next_turn().await;
    assert!(turn.ended);
    assert!(is_over(&session.approve("token").await) && is_over(&session.deny("token").await));
    assert_eq!((session.cancel("c"), session.interrupt()), (false, 0));
    assert_eq!(
        (
            session.audit().await.expect("kept").len(),
            session.updates().len()
        ),
        (0, 0)
    );
    assert!(session.change(&[]).await.is_ok() && session.refresh().await.is_ok());
    assert!(session.guide("greet").is_some());
}

// R-I3
#[tokio::test]
async fn end_answers_and_drops_running_calls() {
    let (runtime, desk) = desk(Policy::text());
    let session = open(&runtime, "s", Mode::Text).await;
    let (response, ()) = tokio::join!(call(&session, "wait", json!({})), async {
        session.end().await;
        assert_eq!(desk.dropped.get(), 1, "the end waits for them");
    });
    assert_eq!(kind(&response), Some(ErrorKind::Cancelled));
}

// R-I3
#[tokio::test]
async fn id_of_an_ended_session_opens_a_new_one() {
    let (runtime, _) = desk(Policy::text().max_calls(Some(1)));
    let old = open(&runtime, "s", Mode::Text).await;
    old.next_turn().await;
    assert!(greet(&old).await.is_ok());
    old.end().await;
    let new = open(&runtime, "s", Mode::Text).await;
    assert_eq!(new.turn(), 0);
    assert!(greet(&new).await.is_ok());
    assert!(
        is_over(&greet(&old).await),
        "the old handle stays what it was"
    );
    old.end().await;
    assert!(!new.state().ended && runtime.sessions().await == Ok(1));
}

// R-I3
#[tokio::test(start_paused = true)]
async fn idle_session_expires_after_30_minutes() {
    let (runtime, desk) = desk(Policy::text());
    let session = open(&runtime, "s", Mode::Text).await;
    advance(Duration::from_secs(30 * 60).saturating_sub(Duration::from_millis(1))).await;
    assert!(greet(&session).await.is_ok());
    advance(Duration::from_secs(30 * 60)).await;
    assert_eq!(runtime.sessions().await, Ok(0));
    assert!(is_over(&greet(&session).await));
    assert!(is_over(
        &session.call(ToolCall::new("c", "greet", "not JSON")).await
    ));
    assert!(session.state().ended && session.next_turn().await.ended);
    assert_eq!(desk.runs.get(), 1);
}

// R-I3
#[tokio::test(start_paused = true)]
async fn policy_sets_the_idle_timeout() {
    let (runtime, _) = desk(Policy::text().idle_timeout(Duration::from_secs(5)));
    let session = open(&runtime, "s", Mode::Text).await;
    advance(Duration::from_secs(5)).await;
    assert!(session.next_turn().await.ended);
    assert!(is_over(&greet(&session).await));
}

// R-I3
#[tokio::test(start_paused = true)]
async fn every_use_keeps_a_session_alive() {
    let (runtime, _) = desk(Policy::text());
    let session = open(&runtime, "s", Mode::Text).await;
    let almost = || advance(Duration::from_secs(29 * 60));
    almost().await;
    assert!(greet(&session).await.is_ok());
    almost().await;
    assert!(!session.next_turn().await.ended);
    almost().await;
    assert!(session.change(&[]).await.is_ok());
    almost().await;
    open(&runtime, "s", Mode::Text).await;
    almost().await;
    assert_eq!(
        kind(&session.call(ToolCall::new("c", "greet", "{}")).await),
        Some(ErrorKind::Validation)
    );
    almost().await;
    assert!(greet(&session).await.is_ok());
}

/// Travel for 90 seconds, and greet on the way.
#[tool]
async fn travel(ctx: &RunContext) -> ToolOutput {
    tokio::time::sleep(Duration::from_secs(70)).await;
    let greeted = ctx.call("greet", json!({"name": "Ada"})).await;
    tokio::time::sleep(Duration::from_secs(20)).await;
    ToolOutput::new(greeted.is_ok()).intent(Intent::SuppressAudio)
}

/// Opens a session that expires while a call travels.
async fn travelling() -> (Runtime, Session) {
    let minute = Duration::from_secs(60);
    let policy = Policy::text().idle_timeout(minute).deadline(2 * minute);
    let runtime = runtime(tools![Desk::default(), travel], policy);
    let session = open(&runtime, "s", Mode::Text).await;
    (runtime, session)
}

// R-I3
#[tokio::test(start_paused = true)]
async fn session_does_not_expire_while_its_call_runs() {
    let (_runtime, session) = travelling().await;
    let response = call(&session, "travel", json!({})).await;
    assert_eq!(response.data_json(), Some("true"), "the nested call runs");
    assert!(session.state().audio_suppressed);
}

// R-I3
#[tokio::test(start_paused = true)]
async fn session_with_a_running_call_is_joined() {
    let (runtime, session) = travelling().await;
    let running = begin(&session, "c", "travel", "{}").await;
    advance(Duration::from_secs(65)).await;
    assert_eq!(runtime.sessions().await, Ok(1));
    let joined = open(&runtime, "s", Mode::Text).await;
    assert!(answer(running).await.is_ok());
    assert!(joined.state().audio_suppressed);
}

// R-I3
#[tokio::test(start_paused = true)]
async fn idle_time_begins_with_the_end_of_a_call() {
    let (_runtime, session) = travelling().await;
    call(&session, "travel", json!({})).await;
    advance(Duration::from_secs(59)).await;
    assert!(greet(&session).await.is_ok());
    advance(Duration::from_secs(60)).await;
    assert!(is_over(&greet(&session).await));
}

// R-I3
#[tokio::test(start_paused = true)]
async fn id_of_an_expired_session_opens_a_new_one() {
    let (runtime, _) = desk(Policy::text());
    let old = open(&runtime, "s", Mode::Text).await;
    old.next_turn().await;
    advance(Duration::from_secs(31 * 60)).await;
    let new = open(&runtime, "s", Mode::Voice).await;
    assert_eq!((new.turn(), new.mode()), (0, Mode::Voice));
    assert!(greet(&new).await.is_ok() && is_over(&greet(&old).await));
}

// R-I3
#[tokio::test]
async fn a_shutdown_ends_every_session() {
    let (runtime, desk) = desk(Policy::text());
    let sessions = [
        open(&runtime, "1", Mode::Text).await,
        open(&runtime, "2", Mode::Voice).await,
    ];
    let (response, ()) = tokio::join!(call(&sessions[0], "wait", json!({})), runtime.shutdown());
    assert_eq!(
        (kind(&response), desk.dropped.get()),
        (Some(ErrorKind::Cancelled), 1)
    );
    for session in &sessions {
        assert!(is_over(&greet(session).await));
    }
    assert_eq!(runtime.sessions().await, Ok(0));
}

// R-I3
#[tokio::test]
async fn a_session_goes_on_when_the_runtime_is_dropped() {
    let (runtime, _) = desk(Policy::text());
    let session = open(&runtime, "s", Mode::Text).await;
    drop(runtime);
    assert!(greet(&session).await.is_ok());
}

/// Say goodbye.
#[tool(name = "part")]
fn part() -> &'static str {
    "goodbye"
}

/// Say hello in another way.
#[tool(name = "greet")]
fn greet_anew() -> &'static str {
    "welcome"
}

// R-I4
#[tokio::test]
async fn a_session_keeps_the_tools_that_it_began_with() {
    let (runtime, _) = desk(Policy::text());
    let old = open(&runtime, "old", Mode::Text).await;
    runtime
        .update_tools(tools![part, greet_anew])
        .expect("sound tools");
    let new = open(&runtime, "new", Mode::Text).await;
    assert_eq!(greet(&old).await.data_json(), Some(r#""hello Ada""#));
    assert_eq!(
        call(&new, "greet", json!({})).await.data_json(),
        Some(r#""welcome""#)
    );
    assert_eq!(
        kind(&call(&old, "part", json!({})).await),
        Some(ErrorKind::NotFound)
    );
    assert_eq!(
        kind(&call(&new, "wait", json!({})).await),
        Some(ErrorKind::NotFound)
    );
    let names = |tools: &ToolContext| {
        tools
            .definitions()
            .map(|tool| tool.name().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(new.tools()), names(&runtime.tools()));
    assert_ne!(names(old.tools()), names(new.tools()));
}

// R-I4
#[tokio::test]
async fn joining_handle_gets_the_tools_of_the_session() {
    let (runtime, _) = desk(Policy::text());
    let first = open(&runtime, "s", Mode::Text).await;
    runtime
        .update_tools(tools![greet_anew])
        .expect("sound tools");
    let joined = open(&runtime, "s", Mode::Text).await;
    assert_eq!(greet(&joined).await.data_json(), Some(r#""hello Ada""#));
    first.end().await;
    let fresh = open(&runtime, "s", Mode::Text).await;
    assert_eq!(
        call(&fresh, "greet", json!({})).await.data_json(),
        Some(r#""welcome""#)
    );
}

// R-I4
#[tokio::test]
async fn joining_transport_gets_the_tools_of_the_session() {
    let (runtime, _) = desk(Policy::text());
    let _first = open(&runtime, "s", Mode::Text).await;
    runtime
        .update_tools(tools![greet_anew])
        .expect("sound tools");
    let joined = runtime
        .session("s", Mode::Text)
        .on_update(|_| ())
        .await
        .expect("a session");
    assert_eq!(greet(&joined).await.data_json(), Some(r#""hello Ada""#));
}

// R-I4
#[tokio::test]
async fn renewed_session_has_new_tools_and_the_same_budget() {
    let (runtime, _) = desk(Policy::text().max_calls(Some(2)));
    let old = open(&runtime, "s", Mode::Text).await;
    assert!(greet(&old).await.is_ok());
    runtime
        .update_tools(tools![greet_anew, part])
        .expect("sound tools");
    let new = runtime
        .session("s", Mode::Text)
        .renewed()
        .await
        .expect("a session");
    assert_eq!(
        call(&new, "greet", json!({})).await.data_json(),
        Some(r#""welcome""#)
    );
    assert_eq!(
        kind(&call(&new, "greet", json!({})).await),
        Some(ErrorKind::BudgetExceeded)
    );
    assert_eq!(kind(&greet(&old).await), Some(ErrorKind::BudgetExceeded));
    assert!(
        open(&runtime, "s", Mode::Text)
            .await
            .tools()
            .has_tool("part"),
        "the next handle joins the renewed session"
    );
}

// R-I4
#[tokio::test]
async fn end_of_a_renewed_session_ends_its_earlier_calls() {
    let (runtime, desk) = desk(Policy::text());
    let old = open(&runtime, "s", Mode::Text).await;
    let (response, ()) = tokio::join!(old.call(ToolCall::new("c", "wait", "{}")), async {
        runtime.update_tools(tools![part]).expect("sound tools");
        let new = runtime
            .session("s", Mode::Text)
            .renewed()
            .await
            .expect("a session");
        assert_eq!(
            (desk.runs.get(), desk.dropped.get()),
            (1, 0),
            "the call goes on"
        );
        new.end().await;
    });
    assert_eq!((response.is_ok(), desk.dropped.get()), (false, 1));
}

// R-I4
#[tokio::test]
async fn renewed_session_has_the_new_policy() {
    let (runtime, _) = desk(Policy::text().max_calls(Some(3)));
    let old = open(&runtime, "s", Mode::Text).await;
    runtime
        .update_policy(Mode::Text, Policy::text().max_calls(Some(1)))
        .expect("a sound policy");
    assert!(greet(&old).await.is_ok());
    let new = runtime
        .session("s", Mode::Text)
        .renewed()
        .await
        .expect("a session");
    assert_eq!(new.policy().limits().max_calls, Some(1));
    assert_eq!(kind(&greet(&new).await), Some(ErrorKind::BudgetExceeded));
    let invalid = Policy::text().principal_window(Duration::from_millis(1));
    assert!(runtime.update_policy(Mode::Text, invalid).is_err());
}

// R-I4
#[tokio::test]
async fn running_call_is_unaffected_by_new_tools() {
    let (runtime, desk) = desk(Policy::text());
    let session = open(&runtime, "s", Mode::Text).await;
    let (response, cancelled) =
        tokio::join!(session.call(ToolCall::new("c", "wait", "{}")), async {
            runtime.update_tools(tools![part]).expect("sound tools");
            assert_eq!(desk.dropped.get(), 0);
            session.cancel("c")
        });
    assert!(cancelled && kind(&response) == Some(ErrorKind::Cancelled));
}

// R-I4
#[tokio::test(start_paused = true)]
async fn end_reaches_calls_of_every_earlier_handle() {
    let (runtime, desk) = desk(Policy::text());
    let first = open(&runtime, "s", Mode::Text).await;
    let waiting = begin(&first, "c", "wait", "{}").await;
    let second = renew(&runtime, "s", Mode::Text).await;
    let third = renew(&runtime, "s", Mode::Text).await;
    drop(second);
    third.end().await;
    assert_eq!(desk.dropped.get(), 1);
    assert_eq!(kind(&answer(waiting).await), Some(ErrorKind::Cancelled));
}

// R-I4
#[tokio::test(start_paused = true)]
async fn end_by_an_earlier_handle_ends_the_session() {
    let (runtime, desk) = desk(Policy::text());
    let earlier = open(&runtime, "s", Mode::Text).await;
    let renewed = renew(&runtime, "s", Mode::Text).await;
    let waiting = begin(&renewed, "c", "wait", "{}").await;
    earlier.end().await;
    assert_eq!(desk.dropped.get(), 1);
    assert_eq!(kind(&answer(waiting).await), Some(ErrorKind::Cancelled));
}

// R-I1, R-I4
#[tokio::test(start_paused = true)]
async fn end_with_the_turn_reaches_earlier_calls() {
    let (runtime, desk) = desk(Policy::text());
    let earlier = open(&runtime, "s", Mode::Text).await;
    let waiting = begin(&earlier, "c", "wait", "{}").await;
    let renewed = renew(&runtime, "s", Mode::Text).await;
    let ending = renewed.change(&[StateChange::Ending(true)]).await;
    ending.expect("changes");
    assert!(renewed.next_turn().await.ended);
    assert_eq!(desk.dropped.get(), 1);
    assert_eq!(kind(&answer(waiting).await), Some(ErrorKind::Cancelled));
}

// R-I4
#[tokio::test(start_paused = true)]
async fn session_without_its_newest_handle_has_new_tools() {
    let (runtime, desk) = desk(Policy::text());
    let earlier = open(&runtime, "s", Mode::Text).await;
    let waiting = begin(&earlier, "c", "wait", "{}").await;
    runtime.update_tools(tools![part]).expect("sound tools");
    drop(renew(&runtime, "s", Mode::Text).await);
    let again = open(&runtime, "s", Mode::Text).await;
    assert!(again.tools().has_tool("part"));
    again.end().await;
    assert_eq!(desk.dropped.get(), 1);
    assert_eq!(kind(&answer(waiting).await), Some(ErrorKind::Cancelled));
}

// R-I3, R-I4
#[tokio::test(start_paused = true)]
async fn shutdown_ends_a_session_without_its_newest_handle() {
    let (runtime, desk) = desk(Policy::text());
    let earlier = open(&runtime, "s", Mode::Text).await;
    let waiting = begin(&earlier, "c", "wait", "{}").await;
    drop(renew(&runtime, "s", Mode::Text).await);
    runtime.shutdown().await;
    assert_eq!(desk.dropped.get(), 1);
    assert_eq!(kind(&answer(waiting).await), Some(ErrorKind::Cancelled));
}
