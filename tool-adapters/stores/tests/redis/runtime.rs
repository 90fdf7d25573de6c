//! Governed calls over Redis: two runtimes share sessions, and a server that is down.

#![allow(clippy::needless_pass_by_value)] // tools as their authors write them

use crate::conformance::Redis;
use crate::relay::Relay;
use crate::server;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tool_adapters::stores::RedisStore;
use tool_core::session::{Decision, Policy, Runtime, Session};
use tool_core::{
    Category, ErrorKind, Intent, Mode, ToolCall, ToolContext, ToolOutput, UserData, tool,
};

#[derive(Default)]
struct Ran(AtomicU32);

/// Look something up.
#[tool(category = "retrieval")]
fn look(#[context] ran: UserData<Ran>, what: String) -> Vec<String> {
    ran.0.0.fetch_add(1, Ordering::Relaxed);
    if what == "nothing" {
        Vec::new()
    } else {
        vec![what]
    }
}

/// Change something.
#[tool(category = "action")]
fn change(#[context] ran: UserData<Ran>, what: String) -> ToolOutput {
    ran.0.0.fetch_add(1, Ordering::Relaxed);
    ToolOutput::new(what).intent(Intent::SuppressAudio)
}

/// Delete something.
#[tool(category = "action", confirm)]
fn delete(#[context] ran: UserData<Ran>, what: String) -> String {
    ran.0.0.fetch_add(1, Ordering::Relaxed);
    what
}

/// Leave a value in the session that nests this deep.
#[tool(category = "action")]
fn leave(depth: usize) -> ToolOutput {
    let value = (0..depth).fold(serde_json::Value::Null, |inner, _| {
        serde_json::Value::Array(vec![inner])
    });
    ToolOutput::new("left").intent(Intent::Custom {
        name: "acme.deep".to_owned(),
        payload: value,
    })
}

fn tools() -> ToolContext {
    ToolContext::builder()
        .with(look)
        .with(change)
        .with(delete)
        .with(leave)
        .build()
        .expect("sound tools")
}

/// Represents another process: a runtime with its own store on the same server.
async fn process(url: &str, prefix: &str, policy: Policy) -> (Session, Arc<Ran>) {
    let store = RedisStore::connect(url)
        .await
        .expect("the server answers")
        .prefix(prefix);
    let runtime = Runtime::builder(tools())
        .policy(policy)
        .store(store)
        .signing_key([7; 32])
        .build()
        .expect("a runtime");
    let ran = Arc::new(Ran::default());
    let session = runtime
        .session("s", Mode::Voice)
        .user_data_shared(Arc::clone(&ran))
        .await
        .expect("it opens");
    (session, ran)
}

fn call(id: &str, tool: &str, what: &str) -> ToolCall {
    ToolCall::new(id, tool, serde_json::json!({ "what": what }))
}

fn kind(response: &tool_core::ToolResponse) -> Option<ErrorKind> {
    response.error().map(|error| error.kind)
}

// R-C8
#[tokio::test]
async fn grant_of_one_process_holds_in_another_until_it_is_revoked() {
    let Some(redis) = Redis::on_server() else {
        return;
    };
    let (one, _) = process(&redis.url, &redis.prefix, Policy::voice()).await;
    let (other, ran) = process(&redis.url, &redis.prefix, Policy::voice()).await;
    let asked = one.call(call("c1", "delete", "a")).await;
    let token = &asked.meta().confirmation().expect("it waits").token;
    let decision = Decision::approve(token).by("ada");
    let decision = decision.always_for_tool(Duration::from_secs(60));
    assert!(one.decide(&decision, None).await.is_ok());

    assert!(other.call(call("c2", "delete", "b")).await.is_ok());
    assert_eq!(ran.0.load(Ordering::Relaxed), 1);
    let audit = one.audit().await.expect("the log");
    let last = audit.last().and_then(|entry| entry.decision.as_ref());
    let last = last.expect("a decision");
    assert_eq!(last.by, "ada");
    assert!(last.grant.as_ref().is_some_and(|grant| !grant.is_new));

    let grant = other.grants().await.expect("the grants").remove(0);
    assert_eq!(one.revoke(&grant.id).await, Ok(true));
    let asked = other.call(call("c3", "delete", "c")).await;
    assert_eq!(kind(&asked), Some(ErrorKind::ConfirmationRequired));
}

// R-L4, R-M5
#[tokio::test]
async fn two_processes_see_one_history_which_outlives_the_session() {
    let Some(redis) = Redis::on_server() else {
        return;
    };
    let store = RedisStore::connect(&redis.url)
        .await
        .expect("the server answers")
        .prefix(&redis.prefix);
    let reader = Runtime::builder(tools())
        .store(store)
        .build()
        .expect("a runtime");
    let (one, _) = process(&redis.url, &redis.prefix, Policy::voice()).await;
    let (two, _) = process(&redis.url, &redis.prefix, Policy::voice()).await;
    for turn in 0..7 {
        assert!(one.call(call("1", "look", &turn.to_string())).await.is_ok());
        assert_eq!(
            kind(&two.call(call("2", "no_such_tool", "b")).await),
            Some(ErrorKind::NotFound)
        );
        one.next_turn().await;
        two.refresh().await.expect("the server answers");
    }
    let history = two.history().await.expect("the server answers");
    assert_eq!(
        history.iter().map(|turn| turn.turn).collect::<Vec<_>>(),
        [3, 4, 5, 6]
    );
    let tools = history[0]
        .calls
        .iter()
        .map(|call| call.tool.as_str())
        .collect::<Vec<_>>();
    assert_eq!(
        (tools, history[0].calls[0].arguments.as_str()),
        (vec!["look", "unknown"], r#"{"what":"3"}"#)
    );
    one.end().await;
    assert_eq!(
        reader.calls("s").await.expect("the server answers").len(),
        14
    );
}

// R-B2
#[tokio::test]
async fn two_processes_spend_one_budget_and_see_one_state() {
    let Some(redis) = Redis::on_server() else {
        return;
    };
    let (one, _) = process(&redis.url, &redis.prefix, Policy::voice()).await;
    let (two, _) = process(&redis.url, &redis.prefix, Policy::voice()).await;
    assert!(one.call(call("1", "look", "a")).await.is_ok());
    assert!(two.call(call("2", "change", "b")).await.is_ok());
    one.refresh().await.expect("the server answers");
    assert!(one.state().audio_suppressed);
    assert_eq!(
        one.audit().await.expect("the server answers").len(),
        2,
        "the calls of both processes"
    );
    assert!(one.call(call("3", "look", "c")).await.is_ok());
    let refused = two.call(call("4", "change", "d")).await;
    assert_eq!(kind(&refused), Some(ErrorKind::BudgetExceeded));
    one.next_turn().await;
    assert!(two.call(call("5", "change", "d")).await.is_ok());
}

// R-L1, R-L2
#[tokio::test]
async fn loops_are_found_across_processes() {
    let Some(redis) = Redis::on_server() else {
        return;
    };
    let policy = Policy::text();
    let (one, _) = process(&redis.url, &redis.prefix, policy.clone()).await;
    let (two, _) = process(&redis.url, &redis.prefix, policy).await;
    assert!(
        one.call(ToolCall::new("1", "change", r#"{"what": "a"}"#))
            .await
            .is_ok()
    );
    assert!(
        two.call(ToolCall::new("2", "change", r#"{ "what":"\u0061" }"#))
            .await
            .is_ok()
    );
    let third = one.call(call("3", "change", "a")).await;
    assert_eq!(kind(&third), Some(ErrorKind::LoopDetected));
    assert!(one.call(call("4", "look", "nothing")).await.is_ok());
    two.call(ToolCall::new("5", "look", r#"{"what":"nothing"}"#))
        .await;
    let empty = two.call(call("6", "look", "something")).await;
    assert_eq!(kind(&empty), Some(ErrorKind::LoopDetected));
}

// R-C3
#[tokio::test]
async fn another_process_approves_and_runs_a_call_once() {
    let Some(redis) = Redis::on_server() else {
        return;
    };
    let (one, ran_in_one) = process(&redis.url, &redis.prefix, Policy::voice()).await;
    let (two, ran_in_two) = process(&redis.url, &redis.prefix, Policy::voice()).await;
    let asked = one.call(call("1", "delete", "everything")).await;
    let token = asked
        .meta()
        .confirmation()
        .expect("a person is asked")
        .token
        .clone();
    let approved = two.approve(&token).await;
    assert_eq!(approved.data_json(), Some("\"everything\""));
    assert_eq!(kind(&one.approve(&token).await), Some(ErrorKind::NotFound));
    let ran = [&ran_in_one, &ran_in_two].map(|ran| ran.0.load(Ordering::Relaxed));
    assert_eq!(ran, [0, 1]);
}

#[tokio::test]
async fn server_down_refuses_actions_and_treats_reads_by_policy() {
    let Some(redis) = Redis::on_server() else {
        return;
    };
    for reads in [false, true] {
        let relay = Relay::to(&redis.url).await;
        let policy = Policy::text()
            .store_deadline(Duration::from_millis(500))
            .reads_without_store(reads);
        let prefix = format!("{}-{reads}", redis.prefix);
        let (session, ran) = process(
            &relay.url,
            &prefix,
            policy.category_budget(Category::Action, Some(2)),
        )
        .await;
        assert!(session.call(call("1", "change", "a")).await.is_ok());
        relay.set_down(true);
        let refused = server::answered(session.call(call("2", "change", "b"))).await;
        let error = refused.error().expect("refused");
        assert_eq!(
            (error.kind, error.partial_side_effects),
            (ErrorKind::Transient, false)
        );
        assert!(
            error.message.contains("nothing was done"),
            "{}",
            error.message
        );
        let read = session.call(call("3", "look", "a")).await;
        assert_eq!(read.is_ok(), reads, "{read}");
        assert_eq!(
            read.meta()
                .warnings()
                .iter()
                .any(|warning| warning.contains("no limits were applied")),
            reads
        );
        relay.set_down(false);
        let mut again = session.call(call("4", "change", "c")).await;
        while kind(&again) == Some(ErrorKind::Transient) {
            again = session.call(call("4", "change", "c")).await;
        }
        assert!(again.is_ok(), "{again}");
        assert_eq!(ran.0.load(Ordering::Relaxed), 2 + u32::from(reads));
    }
}

// R-I1: a value that the store could not give back does not reach it, and the response says so.
#[tokio::test]
async fn no_depth_of_an_intent_breaks_a_session() {
    let Some(redis) = Redis::on_server() else {
        return;
    };
    let policy = Policy::voice().max_calls(None);
    let (one, _) = process(&redis.url, &redis.prefix, policy.clone()).await;
    for depth in 0..=140 {
        let response = one
            .call(ToolCall::new(
                "1",
                "leave",
                serde_json::json!({ "depth": depth }),
            ))
            .await;
        assert_eq!(
            response.intents().len(),
            usize::from(depth <= 100),
            "depth {depth}: {response}"
        );
        assert_eq!(
            one.intents().await.expect("the log").len(),
            depth.min(100) + 1,
            "depth {depth}"
        );
        one.refresh().await.expect("the session can be read");
    }
    let (two, _) = process(&redis.url, &redis.prefix, policy).await;
    assert_eq!(two.intents().await, one.intents().await);
    assert_eq!(two.state(), one.state());
    assert_eq!(two.state().values.len(), 1);
}

// R-I3, R-I5: the session expired in the server, and another process opened its id anew.
#[tokio::test]
async fn handle_of_an_expired_session_does_not_act_on_the_next() {
    let Some(redis) = Redis::on_server() else {
        return;
    };
    let store = async || {
        RedisStore::connect(&redis.url)
            .await
            .expect("the server answers")
            .prefix(&redis.prefix)
    };
    let process = async |policy: Policy| {
        let runtime = Runtime::builder(tools())
            .policy(policy)
            .store(store().await)
            .signing_key([7; 32]);
        runtime.build().expect("a runtime")
    };
    let brief = Policy::text().idle_timeout(Duration::from_millis(100));
    let (here, there) = (process(brief).await, process(Policy::text()).await);
    let ran = Arc::new(Ran::default());
    let open = async |runtime: &Runtime, principal: &str| {
        runtime
            .session("s", Mode::Text)
            .principal(principal)
            .user_data_shared(Arc::clone(&ran))
            .await
    };
    let ada = open(&here, "ada").await.expect("a session");
    let token = ada
        .call(call("1", "delete", "a"))
        .await
        .meta()
        .confirmation()
        .expect("a token")
        .token
        .clone();
    let bob = loop {
        // Refused until ada's session has expired by the server's clock.
        match open(&there, "bob").await {
            Ok(bob) => break bob,
            Err(error) => assert_eq!(
                error,
                tool_core::session::OpenError::OtherPrincipal { id: "s".into() }
            ),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert!(bob.call(call("1", "change", "b")).await.is_ok());
    let late = [
        ada.call(call("2", "change", "a")).await,
        ada.approve(&token).await,
        ada.deny(&token).await,
    ];
    assert!(
        late.iter()
            .all(|late| kind(late) == Some(ErrorKind::SessionInactive)),
        "{late:?}"
    );
    assert!(ada.next_turn().await.ended);
    assert_eq!(
        ada.history().await.expect("the server answers").len(),
        0,
        "bob's calls are his"
    );
    ada.end().await;
    assert_eq!(ran.0.load(Ordering::Relaxed), 1);

    let refused = open(&here, "ada").await.err();
    assert_eq!(
        refused,
        Some(tool_core::session::OpenError::OtherPrincipal { id: "s".into() })
    );
    let joined = open(&here, "bob")
        .await
        .expect("the process that had ada's handle joins bob");
    assert!(joined.call(call("3", "change", "c")).await.is_ok());
    let audit = joined.audit().await.expect("the server answers");
    assert_eq!((audit.len(), bob.turn()), (2, 0));
}

// R-I6
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_turn_of_all_processes_gets_the_pending_message() {
    let Some(redis) = Redis::on_server() else {
        return;
    };
    let mut processes = Vec::new();
    for _ in 0..4 {
        processes.push(process(&redis.url, &redis.prefix, Policy::voice()).await.0);
    }
    for round in 0..50 {
        let message = format!("message {round}");
        let set = [tool_core::session::StateChange::PendingMessage(Some(
            message.clone(),
        ))];
        processes[round % 4]
            .change(&set)
            .await
            .expect("the server answers");
        let turns = processes.iter().cycle().take(20).cloned();
        let turns = turns
            .map(|session| tokio::spawn(async move { session.next_turn().await.pending_message }));
        let mut got = Vec::new();
        for turn in turns.collect::<Vec<_>>() {
            got.extend(turn.await.expect("a turn"));
        }
        assert_eq!(got, [message]);
    }
}
