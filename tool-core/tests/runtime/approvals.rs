//! The binding of an approval: one call, once, of one principal.

use crate::support::{Counter, asked, call, kind, message, open, renew, runtime, text, tools};
use futures_util::future::{join, join_all, pending};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;
use tool_core::call::Confirmation;
use tool_core::session::{Hook, HookFuture, HookedCall, MemoryStore, OpenError};
use tool_core::{
    ErrorKind, Mode, Policy, Runtime, Session, ToolContext, ToolResponse, tool, toolset,
};

#[derive(Clone, Default)]
struct Bank(Counter);

#[toolset(name = "bank_in_approvals")]
impl Bank {
    /// Pay.
    #[tool(name = "pay", category = "action", confirm)]
    async fn pay(&self, amount: u32) -> u32 {
        tokio::task::yield_now().await;
        self.0.add();
        amount
    }

    /// Look at the balance.
    #[tool(name = "balance")]
    fn balance(&self, n: u32) -> u32 {
        n
    }
}

/// Wait for ever.
#[tool(name = "wait_for_ever", category = "action", confirm)]
async fn wait_for_ever() {
    std::future::pending::<()>().await;
}

/// Something new.
#[tool(name = "new_tool")]
fn new_tool() {}

fn bank() -> (ToolContext, Counter) {
    let bank = Bank::default();
    (tools![bank.clone()], bank.0)
}

const KEY: [u8; 32] = [7; 32];

/// A process that shares its sessions with other processes.
fn process(tools: ToolContext, store: &Arc<MemoryStore>, key: [u8; 32]) -> Runtime {
    Runtime::builder(tools)
        .store(Arc::clone(store))
        .signing_key(key)
        .build()
        .expect("a runtime")
}

async fn ask(session: &Session, amount: u32) -> String {
    confirmation(session, amount).await.token
}

async fn confirmation(session: &Session, amount: u32) -> Confirmation {
    let response = call(session, "pay", json!({"amount": amount})).await;
    assert_eq!(
        kind(&response),
        Some(ErrorKind::ConfirmationRequired),
        "{}",
        message(&response)
    );
    response
        .meta()
        .confirmation()
        .expect("a confirmation")
        .clone()
}

fn assert_unknown(response: &ToolResponse) {
    let expected = "no call waits under this token: it was used, it has expired, or it is not for this session";
    assert_eq!(
        (kind(response), message(response)),
        (Some(ErrorKind::NotFound), expected)
    );
}

// R-C2
#[tokio::test]
async fn token_is_accepted_once() {
    let (tools, runs) = bank();
    let session = text(tools, Policy::text()).await;
    let (approved, denied) = (ask(&session, 1).await, ask(&session, 2).await);
    assert!(session.approve(&approved).await.is_ok());
    assert_eq!(kind(&session.deny(&denied).await), Some(ErrorKind::Denied));
    for token in [approved, denied] {
        assert_unknown(&session.approve(&token).await);
        assert_unknown(&session.deny(&token).await);
    }
    assert_eq!(runs.get(), 1);
}

// R-C2
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_of_64_concurrent_approvals_runs_and_pays() {
    let (tools, runs) = bank();
    let session = text(tools, Policy::text().max_calls(Some(64))).await;
    for round in 1..=20 {
        let token = ask(&session, 5).await;
        let tasks = (0..64).map(|_| {
            let (session, token) = (session.clone(), token.clone());
            tokio::spawn(async move { session.approve(&token).await })
        });
        let responses = join_all(tasks)
            .await
            .into_iter()
            .map(|joined| joined.expect("a response"));
        let (done, refused): (Vec<_>, Vec<_>) = responses.partition(ToolResponse::is_ok);
        assert_eq!((done.len(), runs.get()), (1, round));
        refused.iter().for_each(assert_unknown);
        let rest = join_all((0..64).map(|n| call(&session, "balance", json!({"n": n})))).await;
        assert_eq!(rest.iter().filter(|response| response.is_ok()).count(), 63);
        session.next_turn().await;
    }
}

// R-C2
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn call_is_approved_or_denied_never_both() {
    let (tools, runs) = bank();
    let session = text(tools, Policy::text()).await;
    for round in 0..50 {
        let before = runs.get();
        let token = ask(&session, round).await;
        let (yes, no) = ((session.clone(), token.clone()), (session.clone(), token));
        let yes = tokio::spawn(async move { yes.0.approve(&yes.1).await });
        let no = tokio::spawn(async move { no.0.deny(&no.1).await });
        let (yes, no) = (
            yes.await.expect("a response"),
            no.await.expect("a response"),
        );
        let denied = kind(&no) == Some(ErrorKind::Denied);
        assert!(
            yes.is_ok() != denied,
            "{} / {}",
            message(&yes),
            message(&no)
        );
        assert_eq!(runs.get() - before, u32::from(yes.is_ok()));
        session.next_turn().await;
    }
}

// R-C2
#[tokio::test]
async fn invalid_token_is_answered_like_a_used_one() {
    let session = text(bank().0, Policy::text()).await;
    let token = ask(&session, 5).await;
    let last = if token.ends_with('0') { '1' } else { '0' };
    let forged = format!("{}{last}", &token[..token.len() - 1]);
    let (id, proof) = token.split_once('.').expect("an id and a proof");
    let other = format!("{}.{proof}", "0".repeat(id.len()));
    for wrong in [
        "",
        ".",
        "nonsense",
        id,
        "ä.ö",
        &token.to_uppercase(),
        &format!("{token} "),
        &forged,
        &other,
    ] {
        assert_unknown(&session.approve(wrong).await);
        assert_unknown(&session.deny(wrong).await);
    }
    assert!(
        session.approve(&token).await.is_ok(),
        "a wrong token takes nothing away"
    );
}

// R-C2
#[tokio::test]
async fn token_is_bound_to_its_session() {
    let (tools, runs) = bank();
    let runtime = runtime(tools, Policy::text());
    let (mine, other) = (
        open(&runtime, "1", Mode::Text).await,
        open(&runtime, "2", Mode::Text).await,
    );
    let token = ask(&mine, 5).await;
    ask(&other, 5).await;
    assert_unknown(&other.approve(&token).await);
    assert_unknown(&other.deny(&token).await);
    assert!(mine.approve(&token).await.is_ok());
    assert_eq!(runs.get(), 1);
}

// R-C2
#[tokio::test]
async fn token_is_bound_to_its_principal() {
    let (store, (tools, runs)) = (Arc::new(MemoryStore::new()), bank());
    let [here, there] = [
        process(tools.clone(), &store, KEY),
        process(tools, &store, KEY),
    ];
    let ada = here
        .session("s", Mode::Text)
        .principal("ada")
        .await
        .expect("a session");
    let token = ask(&ada, 5).await;
    let bob = there.session("s", Mode::Text).principal("bob");
    assert_eq!(
        bob.await.err(),
        Some(OpenError::OtherPrincipal { id: "s".into() })
    );
    assert!(ada.approve(&token).await.is_ok());
    let token = ask(&ada, 6).await;
    ada.end().await;
    let bob = there
        .session("s", Mode::Text)
        .principal("bob")
        .await
        .expect("the id is free");
    assert_unknown(&bob.approve(&token).await);
    assert_unknown(&bob.deny(&token).await);
    assert_eq!(runs.get(), 1);
}

// R-C2
#[tokio::test]
async fn token_is_bound_to_the_registry_version() {
    let (store, bank) = (Arc::new(MemoryStore::new()), Bank::default());
    let here = process(tools![bank.clone()], &store, KEY);
    let there = process(tools![bank.clone(), new_tool], &store, KEY);
    let token = ask(&open(&here, "s", Mode::Text).await, 5).await;
    let refused = open(&there, "s", Mode::Text).await.approve(&token).await;
    assert_eq!(kind(&refused), Some(ErrorKind::Conflict));
    assert!(message(&refused).contains("the tools have changed"));
    assert_eq!(bank.0.get(), 0);
}

// R-C2
#[tokio::test]
async fn call_of_an_earlier_release_can_be_denied() {
    let (store, bank) = (Arc::new(MemoryStore::new()), Bank::default());
    let here = process(tools![bank.clone()], &store, KEY);
    let there = process(tools![bank.clone(), new_tool], &store, KEY);
    let token = ask(&open(&here, "s", Mode::Text).await, 5).await;
    let session = open(&there, "s", Mode::Text).await;
    let denied = session.deny(&token).await;
    assert_eq!(kind(&denied), Some(ErrorKind::Denied));
    assert_unknown(&session.deny(&token).await);
}

// R-C2
#[tokio::test]
async fn token_is_bound_to_the_signing_key() {
    let (store, (tools, runs)) = (Arc::new(MemoryStore::new()), bank());
    let [here, there] = [
        process(tools.clone(), &store, KEY),
        process(tools, &store, [8; 32]),
    ];
    let token = ask(&open(&here, "s", Mode::Text).await, 5).await;
    assert_unknown(&open(&there, "s", Mode::Text).await.approve(&token).await);
    assert_eq!(runs.get(), 0);
}

// R-C2
#[tokio::test]
async fn token_ends_with_its_session() {
    let (tools, runs) = bank();
    let runtime = runtime(tools, Policy::text());
    let session = open(&runtime, "s", Mode::Text).await;
    let token = ask(&session, 5).await;
    session.end().await;
    assert_eq!(
        kind(&session.approve(&token).await),
        Some(ErrorKind::SessionInactive)
    );
    for mode in [Mode::Text, Mode::Voice] {
        let next = open(&runtime, "s", mode).await;
        assert_unknown(&next.approve(&token).await);
        next.end().await;
    }
    assert_eq!(runs.get(), 0);
}

// R-C3
#[tokio::test]
async fn pending_call_is_resumed_by_another_process() {
    let (store, (tools, runs)) = (Arc::new(MemoryStore::new()), bank());
    let here = process(tools.clone(), &store, KEY);
    let token = ask(&open(&here, "s", Mode::Text).await, 5).await;
    drop(here);
    let session = open(&process(tools, &store, KEY), "s", Mode::Text).await;
    let response = session.approve(&token).await;
    assert_eq!((response.data_json(), runs.get()), (Some("5"), 1));
    assert_unknown(&session.approve(&token).await);
}

// R-C3, R-B2
#[tokio::test]
async fn processes_that_share_a_session_share_its_turn() {
    let (store, (tools, _)) = (Arc::new(MemoryStore::new()), bank());
    let [here, there] = [
        process(tools.clone(), &store, KEY),
        process(tools, &store, KEY),
    ];
    let (one, other) = (
        open(&here, "s", Mode::Voice).await,
        open(&there, "s", Mode::Voice).await,
    );
    let mut ran = 0;
    for n in 0..3 {
        ran += usize::from(one.call(asked("balance", json!({"n": n}))).await.is_ok());
        ran += usize::from(
            other
                .call(asked("balance", json!({"n": 10 + n})))
                .await
                .is_ok(),
        );
    }
    assert_eq!(ran, 3);
}

// R-C3
#[tokio::test]
async fn call_is_decided_once_across_processes() {
    let (store, (tools, runs)) = (Arc::new(MemoryStore::new()), bank());
    let [here, there] = [
        process(tools.clone(), &store, KEY),
        process(tools, &store, KEY),
    ];
    let (one, other) = (
        open(&here, "s", Mode::Text).await,
        open(&there, "s", Mode::Text).await,
    );
    let token = ask(&one, 5).await;
    assert_eq!(kind(&other.deny(&token).await), Some(ErrorKind::Denied));
    assert_unknown(&one.approve(&token).await);
    assert_eq!(runs.get(), 0);
}

#[tokio::test]
async fn the_response_reaches_the_tasks_that_wait_for_it() {
    let (tools, ran) = bank();
    let session = open(&runtime(tools, Policy::text()), "s", Mode::Text).await;
    for approves in [true, false] {
        let asked = confirmation(&session, 5).await;
        let token = &asked.token;
        let decide = async || {
            if approves {
                session.approve(token).await
            } else {
                session.deny(token).await
            }
        };
        // Of many decisions one counts, and the others answer nothing.
        let waiting = join(session.outcome(&asked), session.outcome(&asked));
        let ((first, second), _) = tokio::join!(waiting, join_all((0..5).map(|_| decide())));
        let outcome = first.expect("it was decided");
        assert_eq!(
            (outcome.is_ok(), kind(&outcome) == Some(ErrorKind::Denied)),
            (approves, !approves)
        );
        assert_eq!(second, Some(outcome));
    }
    assert_eq!(ran.get(), 1);
    let session = open(
        &runtime(tools![wait_for_ever], Policy::text()),
        "s",
        Mode::Text,
    )
    .await;
    let response = call(&session, "wait_for_ever", json!({})).await;
    let asked = response.meta().confirmation().expect("a confirmation");
    let given_up = async {
        let mut run = Box::pin(session.approve(&asked.token));
        while session.pending_call(&asked.token).await.is_ok() {
            assert!(futures_util::poll!(&mut run).is_pending());
            tokio::task::yield_now().await;
        }
    };
    assert!(tokio::join!(session.outcome(asked), given_up).0.is_none());
}

/// A hook that never ends its work.
struct Endless;

impl Hook for Endless {
    fn after<'a>(&'a self, _: &'a HookedCall<'a>, _: &'a mut ToolResponse) -> HookFuture<'a, ()> {
        Box::pin(pending())
    }
}

#[tokio::test(start_paused = true)]
async fn a_dropped_denial_is_the_outcome_of_its_call() {
    let runtime = Runtime::builder(bank().0).hook(Endless).build();
    let session = open(&runtime.expect("a runtime"), "s", Mode::Text).await;
    let asked = confirmation(&session, 5).await;
    let denying = timeout(Duration::from_millis(10), session.deny(&asked.token)).await;
    assert!(denying.is_err(), "the hook is still at work");

    let outcome = session.outcome(&asked).await.expect("it was denied");
    assert_eq!(kind(&outcome), Some(ErrorKind::Denied));
}

#[tokio::test]
async fn a_decision_before_the_wait_is_not_lost() {
    let (tools, ran) = bank();
    let runtime = runtime(tools, Policy::text());
    let session = open(&runtime, "s", Mode::Text).await;
    let approved = confirmation(&session, 5).await;
    for waiting in runtime.waiting_calls().await.expect("in memory") {
        waiting.session.approve(&waiting.token).await;
    }
    assert_eq!(
        session
            .outcome(&approved)
            .await
            .expect("it has run")
            .data_json(),
        Some("5")
    );
    let denied = confirmation(&session, 6).await;
    session.deny(&denied.token).await;
    assert_eq!(
        kind(&session.outcome(&denied).await.expect("it was denied")),
        Some(ErrorKind::Denied)
    );
    assert_eq!(ran.get(), 1);
}

#[tokio::test]
async fn a_call_that_another_process_decides_has_no_outcome() {
    let (store, (tools, _)) = (Arc::new(MemoryStore::new()), bank());
    let [here, there] = [
        process(tools.clone(), &store, KEY),
        process(tools, &store, KEY),
    ];
    let (one, other) = (
        open(&here, "s", Mode::Text).await,
        open(&there, "s", Mode::Text).await,
    );
    let asked = confirmation(&one, 5).await;
    assert!(other.approve(&asked.token).await.is_ok());
    assert!(one.outcome(&asked).await.is_none());
}

#[tokio::test]
async fn the_runtime_lists_waiting_calls_of_all_sessions() {
    let (tools, ran) = bank();
    let runtime = runtime(tools, Policy::text());
    let requests = runtime.approval_requests();
    let (first, second) = (
        open(&runtime, "s-1", Mode::Text).await,
        open(&runtime, "s-2", Mode::Text).await,
    );
    let tokens = [
        ask(&first, 1).await,
        ask(&second, 2).await,
        ask(&second, 3).await,
    ];
    assert_eq!(*requests.borrow(), 3);
    let waiting = runtime.waiting_calls().await.expect("in memory");
    assert_eq!(
        waiting
            .iter()
            .map(|waiting| waiting.token.clone())
            .collect::<Vec<_>>(),
        tokens
    );
    assert_eq!(waiting[1].call.payload(), r#"pay({"amount":2})"#);
    let response = waiting[1].session.approve(&waiting[1].token).await;
    assert_eq!((response.data_json(), ran.get()), (Some("2"), 1));
    // One session ends, so its call is not decided any more.
    first.end().await;
    let waiting = runtime.waiting_calls().await.expect("in memory");
    assert_eq!(
        waiting
            .iter()
            .map(|waiting| waiting.call.arguments.as_str())
            .collect::<Vec<_>>(),
        [r#"{"amount":3}"#]
    );
}

#[tokio::test]
async fn no_principal_hides_the_requests_of_others() {
    let runtime = runtime(bank().0, Policy::text());
    let mut sessions = Vec::new();
    for number in 0..1_000 {
        let principal = if number == 0 { "ada" } else { "mallory" };
        let session = runtime
            .session(format!("s-{number}"), Mode::Text)
            .principal(principal)
            .await
            .expect("a session");
        ask(&session, number).await;
        sessions.push(session);
    }
    let waiting = runtime.waiting_calls().await.expect("in memory");
    assert_eq!(
        (waiting.len(), waiting[0].session.id().as_str()),
        (256, "s-0")
    );
}

#[tokio::test]
async fn a_runtime_remembers_256_requests_for_approval() {
    let runtime = runtime(bank().0, Policy::text());
    let mut sessions = Vec::new();
    for number in 0..300 {
        let session = open(&runtime, &format!("s-{number}"), Mode::Text).await;
        ask(&session, number).await;
        sessions.push(session);
    }
    let waiting = runtime.waiting_calls().await.expect("in memory");
    assert_eq!(
        (waiting.len(), waiting[0].session.id().as_str()),
        (256, "s-44")
    );
}

// R-I4
#[tokio::test]
async fn waiting_calls_are_listed_after_a_renewal() {
    let runtime = runtime(bank().0, Policy::text());
    let earlier = open(&runtime, "s", Mode::Text).await;
    let token = ask(&earlier, 1).await;
    let renewed = renew(&runtime, "s", Mode::Text).await;
    drop(earlier);
    let waiting = runtime.waiting_calls().await.expect("in memory");
    assert_eq!(waiting.len(), 1);
    assert_eq!(waiting[0].token, token);
    assert!(renewed.approve(&token).await.is_ok());
}

#[tokio::test]
async fn waiting_call_is_listed_again_once_its_session_has_a_handle() {
    let runtime = runtime(bank().0, Policy::text());
    let session = open(&runtime, "s", Mode::Text).await;
    let token = ask(&session, 1).await;
    drop(session);
    let unlisted = runtime.waiting_calls().await.expect("in memory");
    assert!(unlisted.is_empty(), "{unlisted:?}");

    let _session = open(&runtime, "s", Mode::Text).await;
    let waiting = runtime.waiting_calls().await.expect("in memory");
    assert_eq!(waiting.len(), 1);
    assert_eq!(waiting[0].token, token);
}
