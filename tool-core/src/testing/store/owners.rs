//! Tests of whom a session belongs to: a principal and an agent, for as long as the session is
//! open.

use crate::call::mode::Mode;
use crate::session::approvals::{ApprovalRequest, ApprovalVerdict};
use crate::session::state::{SessionState, StateChange};
use crate::session::store::session_store::{Settlement, Verdict};
use crate::session::store::{OpenError, OpenRequest, SessionStore};
use crate::testing::store::driver::{
    HOUR, StoreUnderTest, TestCall, TestSession, answered, entry, open, opening, session, settled,
    waiting,
};
use std::collections::HashSet;
use std::sync::Arc;
use tokio::task::JoinSet;

fn owned(principal: &str, agent: &str) -> OpenRequest {
    OpenRequest {
        principal: principal.into(),
        agent: agent.into(),
        ..opening("session", Mode::Voice)
    }
}

/// Returns texts that differ from `text` by a character or by very little.
fn mutants(text: &str) -> HashSet<String> {
    let mut mutants = HashSet::from([String::new(), text.to_uppercase(), format!("{text}{text}")]);
    for at in 0..=text.len() {
        let (head, tail) = text.split_at(at);
        mutants.extend([head.to_owned(), tail.to_owned(), format!("{tail}{head}")]);
        for other in "\0 \t\n:{}%*=\"\\'/.@0aZé\u{200b}\u{202e}".chars() {
            mutants.insert(format!("{head}{other}{tail}"));
            if !tail.is_empty() {
                mutants.insert(format!("{head}{other}{}", &tail[1..]));
            }
        }
    }
    mutants.remove(text);
    mutants
}

/// None of more than 1,000 other principals and agents joins a session. An absent one is an
/// identity as any other.
pub async fn session_is_joined_by_its_owner_only(store: &impl StoreUnderTest) {
    let handle = store.handle().await;
    let mut refused = 0;
    let call = TestCall::within(|limits| limits.max_calls = Some(1));
    for (principal, agent) in [
        ("user:7@example.com", "clerk-1"),
        ("", "clerk-1"),
        ("user:7@example.com", ""),
        ("", ""),
    ] {
        let owner = open(&handle, &owned(principal, agent))
            .await
            .expect("the session opens");
        let other = |request: OpenRequest, error: fn(OpenRequest) -> OpenError| {
            let handle = &handle;
            async move {
                assert_eq!(
                    open(handle, &request).await.err(),
                    Some(error(request.clone())),
                    "{request:?}"
                );
            }
        };
        let mut principals = mutants("user:7@example.com");
        principals.insert("user:7@example.com".to_owned());
        principals.remove(principal);
        for stranger in &principals {
            other(owned(stranger, agent), |request| {
                OpenError::OtherPrincipal { id: request.id }
            })
            .await;
        }
        let mut agents = mutants("clerk-1");
        agents.insert("clerk-1".to_owned());
        agents.remove(agent);
        for stranger in &agents {
            other(owned(principal, stranger), |request| {
                OpenError::OtherAgent { id: request.id }
            })
            .await;
        }
        refused += principals.len() + agents.len();
        let joined = open(&handle, &owned(principal, agent))
            .await
            .expect("the owner joins");
        assert_eq!(joined.incarnation(), owner.incarnation());
        assert!(joined.passes(&call).await, "the session is as it was");
        owner.end().await;
    }
    assert!(refused >= 1_000, "{refused}");
}

/// The principal is compared first, so that a stranger learns neither the agent nor the mode.
pub async fn another_principal_learns_nothing_else(store: &impl StoreUnderTest) {
    let handle = store.handle().await;
    let _owner = open(&handle, &owned("ada", "clerk"))
        .await
        .expect("the session opens");
    let stranger = OpenRequest {
        mode: Mode::Text,
        ..owned("bob", "other")
    };
    let id = || "session".into();
    assert_eq!(
        open(&handle, &stranger).await.err(),
        Some(OpenError::OtherPrincipal { id: id() })
    );
    let stranger = OpenRequest {
        mode: Mode::Text,
        ..owned("ada", "other")
    };
    assert_eq!(
        open(&handle, &stranger).await.err(),
        Some(OpenError::OtherAgent { id: id() })
    );
}

/// A host may open the session for each request, and drop it with the answer.
pub async fn owner_outlives_the_handles(store: &impl StoreUnderTest) {
    let first = open(&store.handle().await, &owned("ada", ""))
        .await
        .expect("the session opens");
    first
        .change(&[StateChange::PendingMessage(Some("for ada".to_owned()))])
        .await;
    drop(first);
    for stranger in ["bob", ""] {
        let refused = open(&store.handle().await, &owned(stranger, ""))
            .await
            .err();
        assert_eq!(
            refused,
            Some(OpenError::OtherPrincipal {
                id: "session".into()
            })
        );
    }
    let again = open(&store.handle().await, &owned("ada", ""))
        .await
        .expect("the owner joins");
    assert_eq!(
        again.turn().await.pending_message.as_deref(),
        Some("for ada")
    );
}

/// Of principals that race for an id, one gets a session, over all handles.
pub async fn racing_principals_share_no_session(store: &impl StoreUnderTest) {
    let handles = [
        Arc::new(store.handle().await),
        Arc::new(store.handle().await),
    ];
    for round in 0..32 {
        let mut racers = JoinSet::new();
        for racer in 0..32 {
            let handle = Arc::clone(&handles[racer % 2]);
            let request = OpenRequest {
                id: format!("{round}").into(),
                ..owned(&format!("user:{}", racer % 8), "")
            };
            racers.spawn(async move { open(&handle, &request).await.ok().map(|_| racer % 8) });
        }
        let opened = racers
            .join_all()
            .await
            .into_iter()
            .flatten()
            .collect::<Vec<_>>();
        assert!(
            opened.len() == 4 && opened.iter().all(|owner| *owner == opened[0]),
            "{opened:?}"
        );
    }
}

/// Fills a session with one of everything.
async fn fill(session: &TestSession, call: &TestCall) {
    assert!(session.passes(call).await);
    let changes = [
        StateChange::AudioSuppressed(true),
        StateChange::PendingMessage(Some("for ada".to_owned())),
        StateChange::Value("acme.cart".to_owned(), 1.into()),
    ];
    session
        .settle(Settlement {
            empty: true,
            changes: &changes,
            audit: &[entry(1)],
            ..settled()
        })
        .await;
    session.mint(&waiting(1), HOUR).await;
    session.keep_call(&answered(1)).await;
}

/// Asserts that a session has nothing of the one that [`fill`] filled.
async fn assert_fresh<S: SessionStore>(handle: &S, session: &TestSession, call: &TestCall) {
    assert_eq!((*session.state()).clone(), SessionState::default());
    assert_eq!(session.audit().await, []);
    assert_eq!(session.calls().await, []);
    assert_eq!(handle.calls(&"session".into()).await, Ok(Vec::new()));
    assert_eq!(session.pending(&waiting(1).id).await, None);
    assert!(!session.consume(&waiting(1).id).await);
    assert_eq!(
        session.admit(call).await,
        Verdict::Admitted { turn: 0 },
        "budgets, attempts and empty results"
    );
    assert_eq!(session.turn().await.pending_message, None);
}

fn one_call() -> TestCall {
    TestCall::within(|limits| {
        (limits.max_calls, limits.repeated, limits.empty) = (Some(1), Some(2), Some(1));
    })
}

/// Anybody may open the id of an ended session anew.
pub async fn next_owner_gets_nothing_of_an_ended_session(store: &impl StoreUnderTest) {
    let handle = store.handle().await;
    for number in 0..100 {
        let principal = ["bob", "", "ada", &format!("bob-{number}")][number % 4].to_owned();
        let ada = open(&handle, &owned("ada", "clerk"))
            .await
            .expect("the session opens");
        fill(&ada, &one_call()).await;
        ada.end().await;
        let next = open(&handle, &owned(&principal, ""))
            .await
            .expect("the id is free");
        assert_fresh(&handle, &next, &one_call()).await;
        ada.assert_over().await;
        next.end().await;
    }
}

/// Anybody may open the id of an expired session anew.
pub async fn next_owner_gets_nothing_of_an_expired_session<T: StoreUnderTest>(store: &T) {
    let handle = store.handle().await;
    for principal in ["bob", ""] {
        let brief = OpenRequest {
            idle_timeout: T::TICK * 4,
            ..owned("ada", "clerk")
        };
        let ada = open(&handle, &brief).await.expect("the session opens");
        fill(&ada, &one_call()).await;
        store.pass(T::TICK * 5).await;
        let next = open(&handle, &owned(principal, ""))
            .await
            .expect("the id is free");
        assert_fresh(&handle, &next, &one_call()).await;
        ada.assert_over().await;
        next.end().await;
    }
}

/// A refused opener does not keep a session open.
pub async fn refused_openings_do_not_use_a_session<T: StoreUnderTest>(store: &T) {
    let handle = store.handle().await;
    let ada = OpenRequest {
        // Openings on a busy machine take a part of it.
        idle_timeout: T::TICK * 10,
        ..owned("ada", "clerk")
    };
    open(&handle, &ada).await.expect("the session opens");
    for stranger in [
        owned("bob", "clerk"),
        owned("ada", ""),
        OpenRequest {
            mode: Mode::Text,
            ..ada.clone()
        },
    ] {
        store.pass(T::TICK).await;
        assert!(open(&handle, &stranger).await.is_err());
    }
    store.pass(T::TICK * 8).await;
    assert_eq!(handle.sessions().await, Ok(0));
}

/// A handle that outlives its session acts neither on the next one of the id nor learns from it.
pub async fn late_handle_does_not_reach_the_next_session(store: &impl StoreUnderTest) {
    let call = one_call();
    let late = session(store, Mode::Voice).await;
    late.end().await;
    let next = session(store, Mode::Voice).await;
    assert_ne!(late.incarnation(), next.incarnation());
    next.mint(&waiting(1), HOUR).await;
    next.keep_call(&answered(1)).await;
    next.change(&[StateChange::PendingMessage(Some("for the next".to_owned()))])
        .await;

    late.assert_over().await;
    assert!(!late.passes(&call).await);
    late.settle(Settlement {
        refund: true,
        changes: &[StateChange::Ending(true)],
        audit: &[entry(9)],
        ..settled()
    })
    .await;
    late.keep_call(&answered(9)).await;
    late.change(&[StateChange::AudioSuppressed(true)]).await;
    assert_eq!(
        late.asks(&ApprovalRequest::new(&waiting(9), HOUR)).await,
        ApprovalVerdict::Inactive
    );
    late.refresh().await;
    assert_eq!(late.pending(&waiting(1).id).await, None);
    assert!(!late.consume(&waiting(1).id).await);
    assert!(
        late.calls().await.iter().all(|call| *call == answered(9)),
        "the calls of the next session are its own"
    );
    assert_eq!(
        (
            late.turn().await.pending_message,
            late.state().pending_message.clone()
        ),
        (None, None)
    );
    late.end().await;

    next.refresh().await;
    let expected = SessionState {
        pending_message: Some("for the next".to_owned()),
        ..SessionState::default()
    };
    assert_eq!(*next.state(), expected);
    assert_eq!(
        (next.audit().await, next.calls().await),
        (vec![], vec![answered(1)])
    );
    assert!(next.pending(&waiting(9).id).await.is_none() && next.consume(&waiting(1).id).await);
    assert_eq!(next.admit(&call).await, Verdict::Admitted { turn: 0 });
}

/// Each session has its own incarnation, which all of its handles know.
pub async fn incarnations_distinguish_sessions(store: &impl StoreUnderTest) {
    let one = store.handle().await;
    let other = store.handle().await;
    let mut known = HashSet::new();
    for _ in 0..100 {
        let session = open(&one, &owned("ada", ""))
            .await
            .expect("the session opens");
        let joined = open(&other, &owned("ada", ""))
            .await
            .expect("the session is joined");
        assert_eq!(session.incarnation(), joined.incarnation());
        assert!(known.insert(session.incarnation()));
        session.end().await;
    }
}
