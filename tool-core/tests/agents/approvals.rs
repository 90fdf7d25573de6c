//! Actions that a person has to agree to. R-C1, R-C2

use crate::support::{Probe, agents, builder, give, kind, settle, touch};
use serde_json::json;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tool_core::agents::{AgentToolStore, Agents, MemoryAgentToolStore};
use tool_core::session::{ApprovalLimits, Hook, HookFuture, HookedCall, PendingCall};
use tool_core::tool::Confirm;
use tool_core::{ErrorKind, Policy, Runtime, ToolContext, ToolError, ToolResponse};

fn careful() -> Probe {
    Probe::new("mail", ["send"]).options(|tool| tool.confirm(Confirm::Always))
}

async fn asked(agents: &Agents) -> (ToolResponse, String) {
    asked_for(agents, "{}").await
}

async fn asked_for(agents: &Agents, arguments: &str) -> (ToolResponse, String) {
    let response = agents
        .executor("alice")
        .run_tool_action("mail", "send", arguments)
        .await
        .expect("an answer");
    assert_eq!(kind(&response), Some(ErrorKind::ConfirmationRequired));
    let token = response
        .meta()
        .confirmation()
        .expect("a token")
        .token
        .clone();
    (response, token)
}

/// Agents whose tokens live for a minute.
fn short_lived(mail: &Probe) -> Agents {
    with_lifetime(mail, Duration::from_secs(60))
}

fn with_lifetime(mail: &Probe, lifetime: Duration) -> Agents {
    let nothing = ToolContext::builder().build().expect("nothing");
    let policy = Policy::text().confirmation_lifetime(lifetime);
    let runtime = Runtime::builder(nothing)
        .policy(policy)
        .build()
        .expect("sound");
    builder(MemoryAgentToolStore::new(), [mail])
        .runtime(runtime)
        .build()
        .expect("sound")
}

async fn open(agents: &Agents) -> u64 {
    agents.runtime().sessions().await.expect("a count")
}

// R-C1
#[tokio::test]
async fn an_approved_action_runs_once_and_its_session_ends() {
    let mail = careful();
    let agents = agents([&mail]);
    give(&agents, "alice", "mail").await;
    let (_, token) = asked(&agents).await;
    assert_eq!(
        (mail.called.get(), open(&agents).await),
        (0, 0),
        "no session waits"
    );
    let alice = agents.executor("alice");
    assert!(alice.approve(&token).await.is_ok());
    assert_eq!((mail.called.get(), open(&agents).await), (1, 0));
    assert_eq!(
        kind(&alice.approve(&token).await),
        Some(ErrorKind::NotFound)
    );
    assert_eq!(mail.called.get(), 1);
}

// R-C1
#[tokio::test]
async fn an_approval_can_wait_for_ever() {
    let mail = careful();
    let agents = with_lifetime(&mail, Duration::MAX);
    give(&agents, "alice", "mail").await;
    let (_, token) = asked(&agents).await;
    // The timer of an action whose token has expired would end its session.
    tokio::task::yield_now().await;
    assert!(agents.executor("alice").approve(&token).await.is_ok());
}

// R-C1
#[tokio::test]
async fn a_denied_action_does_not_run_and_its_session_ends() {
    let mail = careful();
    let agents = agents([&mail]);
    give(&agents, "alice", "mail").await;
    let (_, token) = asked(&agents).await;
    let alice = agents.executor("alice");
    assert_eq!(kind(&alice.deny(&token).await), Some(ErrorKind::Denied));
    assert_eq!(
        kind(&alice.approve(&token).await),
        Some(ErrorKind::NotFound)
    );
    assert_eq!((mail.called.get(), open(&agents).await), (0, 0));
}

/// Tells what persons have decided.
struct Decided(Arc<Mutex<Vec<String>>>);

impl Hook for Decided {
    fn after<'a>(
        &'a self,
        call: &'a HookedCall<'a>,
        _response: &'a mut ToolResponse,
    ) -> HookFuture<'a, ()> {
        if let Some(decision) = &call.decision {
            let line = format!("{} by {:?}", decision.approved, decision.by);
            self.0.lock().expect("no panic").push(line);
        }
        Box::pin(std::future::ready(()))
    }
}

// R-C1
#[tokio::test]
async fn a_decision_on_an_action_reaches_the_hooks() {
    let seen = Arc::<Mutex<Vec<String>>>::default();
    let nothing = ToolContext::builder().build().expect("nothing");
    let runtime = Runtime::builder(nothing)
        .hook(Decided(Arc::clone(&seen)))
        .build();
    let mail = careful();
    let agents = builder(MemoryAgentToolStore::new(), [&mail])
        .runtime(runtime.expect("sound"))
        .build()
        .expect("sound");
    give(&agents, "alice", "mail").await;
    let alice = agents.executor("alice");

    let (_, token) = asked(&agents).await;
    let denied = alice.deny_by(&token, "staff:eve").await;
    assert_eq!(kind(&denied), Some(ErrorKind::Denied));
    let (_, token) = asked(&agents).await;
    assert!(alice.approve_by(&token, "staff:bob").await.is_ok());
    let wanted = [
        r#"false by Some("staff:eve")"#,
        r#"true by Some("staff:bob")"#,
    ];
    assert_eq!(*seen.lock().expect("no panic"), wanted);
}

/// Tells it after a while.
struct SlowToTell(Decided);

impl Hook for SlowToTell {
    fn after<'a>(
        &'a self,
        call: &'a HookedCall<'a>,
        response: &'a mut ToolResponse,
    ) -> HookFuture<'a, ()> {
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(500)).await;
            self.0.after(call, response).await;
        })
    }
}

// R-C1
#[tokio::test(start_paused = true)]
async fn a_denial_whose_caller_goes_away_reaches_the_hooks() {
    let seen = Arc::<Mutex<Vec<String>>>::default();
    let nothing = ToolContext::builder().build().expect("nothing");
    let runtime = Runtime::builder(nothing)
        .hook(SlowToTell(Decided(Arc::clone(&seen))))
        .build();
    let mail = careful();
    let agents = builder(MemoryAgentToolStore::new(), [&mail])
        .runtime(runtime.expect("sound"))
        .build()
        .expect("sound");
    give(&agents, "alice", "mail").await;
    let (_, token) = asked(&agents).await;
    let alice = agents.executor("alice");
    let denying = tokio::time::timeout(Duration::from_millis(100), alice.deny(&token));
    denying.await.expect_err("the caller goes away");
    tokio::time::sleep(Duration::from_secs(1)).await;
    let wanted = [r#"false by Some("agent:alice")"#];
    assert_eq!(*seen.lock().expect("no panic"), wanted);
    assert_eq!(open(&agents).await, 0);
}

// R-C1
#[tokio::test(start_paused = true)]
async fn action_expires_with_its_token() {
    let mail = careful();
    let agents = short_lived(&mail);
    give(&agents, "alice", "mail").await;
    let (_, first) = asked(&agents).await;
    tokio::time::sleep(Duration::from_secs(59)).await;
    assert!(
        agents
            .executor("alice")
            .pending_action(&first)
            .await
            .is_ok()
    );
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(
        kind(&agents.executor("alice").approve(&first).await),
        Some(ErrorKind::NotFound)
    );
    assert_eq!((mail.called.get(), open(&agents).await), (0, 0));
}

/// Approves a call that takes a while, and waits until it runs.
async fn running(agents: &Agents, mail: &Probe, token: &str) -> JoinHandle<ToolResponse> {
    let (alice, token) = (agents.executor("alice"), token.to_owned());
    let approved = tokio::spawn(async move { alice.approve(&token).await });
    settle().await;
    assert_eq!(mail.called.get(), 1);
    approved
}

// R-C1: a double click, a webhook that is sent again.
#[tokio::test(start_paused = true)]
async fn a_second_word_on_an_action_that_runs_does_not_cancel_it() {
    let mail = careful();
    let agents = agents([&mail]);
    give(&agents, "alice", "mail").await;
    let (_, token) = asked_for(&agents, r#"{"seconds": 5}"#).await;
    let approved = running(&agents, &mail, &token).await;
    let alice = agents.executor("alice");
    let id_alone = format!("{}x", &token[..token.len() - 1]);
    for word in [&token, &id_alone] {
        assert_eq!(kind(&alice.approve(word).await), Some(ErrorKind::NotFound));
        assert_eq!(kind(&alice.deny(word).await), Some(ErrorKind::NotFound));
    }
    agents.close().await;
    let response = approved.await.expect("no panic");
    assert!(response.is_ok(), "{response:?}");
    assert_eq!((mail.called.get(), open(&agents).await), (1, 0));
}

// R-C1
#[tokio::test(start_paused = true)]
async fn action_approved_just_before_expiry_runs_to_its_end() {
    let mail = careful();
    let agents = short_lived(&mail);
    give(&agents, "alice", "mail").await;
    let (_, token) = asked_for(&agents, r#"{"seconds": 5}"#).await;
    tokio::time::sleep(Duration::from_secs(58)).await;
    let response = running(&agents, &mail, &token)
        .await
        .await
        .expect("no panic");
    assert!(response.is_ok(), "{response:?}");
    assert_eq!((mail.called.get(), open(&agents).await), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn an_approval_that_nobody_waits_for_leaves_no_session_open() {
    let mail = careful();
    let agents = agents([&mail]);
    give(&agents, "alice", "mail").await;
    let (_, token) = asked_for(&agents, r#"{"seconds": 5}"#).await;
    running(&agents, &mail, &token).await.abort();
    settle().await;
    assert_eq!(open(&agents).await, 0);
}

// R-C2
#[tokio::test]
async fn foreign_and_forged_tokens_leave_the_call_waiting() {
    let mail = careful();
    let agents = agents([&mail]);
    give(&agents, "alice", "mail").await;
    let (_, token) = asked(&agents).await;
    assert_eq!(
        kind(&agents.executor("bob").approve(&token).await),
        Some(ErrorKind::NotFound)
    );
    let last = if token.ends_with('0') { "1" } else { "0" };
    let forged = format!("{}{last}", &token[..token.len() - 1]);
    let alice = agents.executor("alice");
    for wrong in [forged.as_str(), "", "x", &token[1..]] {
        assert_eq!(kind(&alice.approve(wrong).await), Some(ErrorKind::NotFound));
        assert_eq!(kind(&alice.deny(wrong).await), Some(ErrorKind::NotFound));
    }
    assert!(alice.approve(&token).await.is_ok());
    assert_eq!(mail.called.get(), 1);
}

// R-C2: 64 redemptions at once, one run.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_who_approve_at_once_one_runs_it() {
    let mail = careful();
    let agents = agents([&mail]);
    give(&agents, "alice", "mail").await;
    let (_, token) = asked(&agents).await;
    let approvals = (0..64).map(|_| {
        let (alice, token) = (agents.executor("alice"), token.clone());
        tokio::spawn(async move { alice.approve(&token).await.is_ok() })
    });
    let mut ran = 0;
    for approval in approvals.collect::<Vec<_>>() {
        ran += u32::from(approval.await.expect("no panic"));
    }
    assert_eq!((ran, mail.called.get()), (1, 1));
}

// The person has approved a call with the settings of then.
#[tokio::test]
async fn approval_ends_when_the_settings_change() {
    let mail = careful();
    let agents = agents([&mail]);
    give(&agents, "alice", "mail").await;
    let (_, token) = asked(&agents).await;
    touch(&agents, "alice", "mail").await;
    assert_eq!(
        kind(&agents.executor("alice").approve(&token).await),
        Some(ErrorKind::Conflict)
    );
    assert_eq!((mail.called.get(), open(&agents).await), (0, 0));
    assert!(
        agents
            .executor("alice")
            .approve(&asked(&agents).await.1)
            .await
            .is_ok()
    );
}

/// A hook that refuses each approved call after a while.
struct Busy;

impl Hook for Busy {
    fn before<'a>(&'a self, call: &'a HookedCall<'a>) -> HookFuture<'a, Result<(), ToolError>> {
        _ = call;
        Box::pin(async {
            tokio::time::sleep(Duration::from_millis(900)).await;
            Err(ToolError::transient("busy"))
        })
    }
}

#[tokio::test(start_paused = true)]
async fn attempts_to_approve_do_not_prolong_a_wait() {
    let mail = careful();
    let nothing = ToolContext::builder().build().expect("nothing");
    let policy = Policy::text().confirmation_lifetime(Duration::from_secs(60));
    let runtime = Runtime::builder(nothing)
        .policy(policy)
        .hook(Busy)
        .build()
        .expect("sound");
    let agents = builder(MemoryAgentToolStore::new(), [&mail])
        .runtime(runtime)
        .build()
        .expect("sound");
    give(&agents, "alice", "mail").await;
    let (_, token) = asked(&agents).await;
    let began = Instant::now();
    while kind(&agents.executor("alice").approve(&token).await) == Some(ErrorKind::Transient) {}
    assert!(
        (59..=61).contains(&began.elapsed().as_secs()),
        "{:?}",
        began.elapsed()
    );
    assert_eq!(mail.called.get(), 0);
}

// The version of the record is the same, as after a change by hand in the database.
#[tokio::test]
async fn approval_is_for_the_settings_it_was_asked_with() {
    let (mail, hour) = (careful(), Duration::from_secs(3_600));
    let configured = async |note: &str| {
        let store = Arc::new(MemoryAgentToolStore::new());
        let agents = process(&store, &mail, 1, "ada");
        agents
            .add("alice", "mail")
            .config(json!({"note": note}))
            .save()
            .await
            .expect("written");
        (store, agents)
    };
    let (_, first) = configured("as asked").await;
    let (_, token) = asked(&first).await;
    let waiting = first
        .executor("alice")
        .pending_action(&token)
        .await
        .expect("it waits");
    for number in 0..1_000 {
        let (store, other) = configured(&number.to_string()).await;
        store
            .keep_action("alice", &waiting, hour, ApprovalLimits::default())
            .await
            .expect("it keeps");
        assert_eq!(
            kind(&other.executor("alice").approve(&token).await),
            Some(ErrorKind::Conflict)
        );
    }
    assert_eq!(mail.called.get(), 0);
    let (store, same) = configured("as asked").await;
    store
        .keep_action("alice", &waiting, hour, ApprovalLimits::default())
        .await
        .expect("it keeps");
    assert!(same.executor("alice").approve(&token).await.is_ok());
}

#[tokio::test]
async fn action_that_waits_outlives_close() {
    let mail = careful();
    let agents = agents([&mail]);
    give(&agents, "alice", "mail").await;
    let (response, token) = asked(&agents).await;
    agents.close().await;
    assert_eq!((open(&agents).await, mail.counts()), (0, (1, 1, 1)));
    // T3: only the host sees the token.
    assert!(
        !format!(
            "{:?}",
            response.for_model(tool_core::call::ResultForm::default())
        )
        .contains(&token)
            && !format!("{agents:?}").contains(&token)
    );
    assert!(agents.executor("alice").approve(&token).await.is_ok());
    assert_eq!(mail.called.get(), 1);
}

/// Agents of another process, over the same store and with the same key.
fn process(
    store: &Arc<MemoryAgentToolStore>,
    mail: &Probe,
    key: u8,
    principal: impl Into<String>,
) -> Agents {
    let principal = principal.into();
    let nothing = ToolContext::builder().build().expect("nothing");
    let runtime = Runtime::builder(nothing)
        .signing_key([key; 32])
        .build()
        .expect("sound");
    let agents = builder(Arc::clone(store), [mail]).runtime(runtime);
    agents
        .each_session(move |session| session.principal(&*principal))
        .build()
        .expect("sound")
}

// R-C3
#[tokio::test]
async fn any_process_carries_out_the_decision_after_a_restart() {
    let (store, mail) = (Arc::new(MemoryAgentToolStore::new()), careful());
    let first = process(&store, &mail, 1, "ada");
    give(&first, "alice", "mail").await;
    let (_, token) = asked(&first).await;
    drop(first);
    let wrong_key = process(&store, &mail, 2, "ada")
        .executor("alice")
        .approve(&token)
        .await;
    assert_eq!(kind(&wrong_key), Some(ErrorKind::NotFound));
    for foreigner in (0..1_000).map(|number| format!("ada{number}")) {
        let foreigner = process(&store, &mail, 1, foreigner).executor("alice");
        for refused in [
            foreigner.approve(&token).await,
            foreigner.deny(&token).await,
        ] {
            assert_eq!(kind(&refused), Some(ErrorKind::NotFound));
        }
        assert_eq!(
            foreigner
                .pending_action(&token)
                .await
                .map_err(|error| error.kind()),
            Err(ErrorKind::NotFound)
        );
    }
    let (one, other) = (
        process(&store, &mail, 1, "ada"),
        process(&store, &mail, 1, "ada"),
    );
    let decisions = (0..64).map(|number| {
        let (alice, token) = (
            if number % 2 == 0 { &one } else { &other }.executor("alice"),
            token.clone(),
        );
        async move { u32::from(alice.approve(&token).await.is_ok()) }
    });
    assert_eq!(
        futures_util::future::join_all(decisions)
            .await
            .into_iter()
            .sum::<u32>(),
        1
    );
    assert_eq!(mail.called.get(), 1);
}

#[tokio::test]
async fn altered_action_is_not_run() {
    let (store, mail) = (Arc::new(MemoryAgentToolStore::new()), careful());
    let agents = process(&store, &mail, 1, "ada");
    give(&agents, "alice", "mail").await;
    let mut altered = 0;
    for number in 0..110 {
        let (_, token) = asked(&agents).await;
        let id = token.split('.').next().expect("an id");
        let waiting = store
            .action("alice", id)
            .await
            .expect("it answers")
            .expect("it waits");
        let alterations: [fn(&mut PendingCall, u64); 10] = [
            |call, number| call.agent = format!("alice{number}"),
            |call, number| call.session = format!("action-{number}"),
            |call, number| call.call_id = number.to_string(),
            |call, number| call.settings = format!("{number:064x}"),
            |call, number| call.arguments = format!(r#"{{"seconds":{number}}}"#),
            |call, number| call.tool = format!("send{number}"),
            |call, number| call.principal = format!("eve{number}"),
            |call, number| call.expires_at += number + 1,
            |call, number| call.version = number.to_string(),
            |call, number| call.turn += number + 1,
        ];
        for alter in alterations {
            let mut forged = waiting.clone();
            alter(&mut forged, number);
            let hour = Duration::from_secs(3_600);
            store.take_action("alice", id).await.expect("it takes");
            store
                .keep_action("alice", &forged, hour, ApprovalLimits::default())
                .await
                .expect("it keeps");
            assert_eq!(
                kind(&agents.executor("alice").approve(&token).await),
                Some(ErrorKind::NotFound)
            );
            altered += 1;
        }
        store.take_action("alice", id).await.expect("it takes");
    }
    assert_eq!((altered, mail.called.get()), (1_100, 0));
}

#[tokio::test]
async fn actions_that_wait_are_bounded_and_kept() {
    let mail = careful();
    let agents = builder(MemoryAgentToolStore::new(), [&mail])
        .max_pending_actions(16, 1 << 20)
        .build()
        .expect("sound");
    give(&agents, "alice", "mail").await;
    let mut tokens = Vec::new();
    for _ in 0..1_000 {
        let response = agents
            .executor("alice")
            .run_tool_action("mail", "send", "{}")
            .await
            .expect("an answer");
        match response.meta().confirmation() {
            Some(confirmation) => tokens.push(confirmation.token.clone()),
            None => assert_eq!(kind(&response), Some(ErrorKind::BudgetExceeded)),
        }
    }
    assert_eq!((tokens.len(), open(&agents).await), (16, 0));
    for token in &tokens {
        assert!(agents.executor("alice").approve(token).await.is_ok());
    }
    assert_eq!(mail.called.get(), 16);
}

#[tokio::test]
async fn whole_action_is_shown_on_request() {
    let mail = careful();
    let agents = agents([&mail]);
    give(&agents, "alice", "mail").await;
    let (response, token) = asked_for(&agents, r#"{"seconds": 5}"#).await;
    let call = agents
        .executor("alice")
        .pending_action(&token)
        .await
        .expect("it waits");
    assert_eq!(call.payload(), r#"send({"seconds":5})"#);
    assert_eq!(
        Some(call.digest()),
        response.meta().confirmation().map(|of| of.digest.clone())
    );
    let foreign = agents
        .executor("bob")
        .pending_action(&token)
        .await
        .map_err(|error| error.kind());
    assert_eq!(foreign, Err(ErrorKind::NotFound));
}
