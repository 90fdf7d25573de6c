//! T13: with a failing store actions are refused and reads do as configured, until the store works again.

use crate::later::LaterStore;
use crate::support::{block_on, call, open_policy};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tool_core::{Category, ErrorKind, Mode, Policy, Runtime, Session, toolset};

#[derive(Clone, Default)]
struct Counted(Arc<AtomicUsize>);

#[toolset(discover = false)]
impl Counted {
    /// Do something.
    #[tool(category = "action")]
    fn act(&self) -> u8 {
        self.0.fetch_add(1, Ordering::SeqCst);
        1
    }

    /// Read something.
    #[tool(category = "retrieval")]
    async fn read(&self) -> u8 {
        self.0.fetch_add(1, Ordering::SeqCst);
        2
    }

    /// Do something if a person agrees.
    #[tool(category = "action", confirm)]
    fn pay(&self) -> u8 {
        self.0.fetch_add(1, Ordering::SeqCst);
        3
    }
}

async fn over(store: &Arc<LaterStore>, policy: Policy) -> (Counted, Session) {
    let counted = Counted::default();
    let builder = Runtime::builder(crate::support::tools(counted.clone()))
        .policy(policy)
        .store(Arc::clone(store));
    let session = builder
        .build()
        .expect("sound")
        .session("s", Mode::Text)
        .await
        .expect("opens");
    (counted, session)
}

/// Checks that the call is refused, is retryable, and has no side effects.
async fn is_refused(session: &Session, tool: &str) {
    let response = session.call(call("c", tool, json!({}))).await;
    let error = response.error().expect("refused");
    assert_eq!(
        (error.kind, error.retryable, error.partial_side_effects),
        (ErrorKind::Transient, true, false)
    );
    assert!(!error.message.contains("secret"), "{response}");
}

// T13
#[test]
fn failing_store_lets_nothing_run() {
    block_on(async {
        let store = Arc::new(LaterStore::waiting(1, 1));
        let (counted, session) = over(&store, open_policy()).await;
        let asked = session.call(call("c", "pay", json!({}))).await;
        let token = asked.meta().confirmation().expect("asked").token.clone();
        store.breaks("secret host name");
        for tool in ["act", "read", "pay"] {
            is_refused(&session, tool).await;
        }
        for response in [session.approve(&token).await, session.deny(&token).await] {
            let error = response.error().expect("refused");
            assert_eq!((error.kind, error.retryable), (ErrorKind::Transient, true));
        }
        assert_eq!(counted.0.load(Ordering::SeqCst), 0);
        assert!(
            !session.next_turn().await.ended,
            "the turn goes on with the counters that it has"
        );
        session.end().await;
    });
}

// T13
#[test]
fn reads_run_without_a_store_if_the_policy_allows() {
    block_on(async {
        let store = Arc::<LaterStore>::default();
        let (counted, session) = over(&store, open_policy().reads_without_store(true)).await;
        store.breaks("down");
        is_refused(&session, "act").await;
        is_refused(&session, "pay").await;
        assert_eq!(
            session.call(call("c", "read", json!({}))).await.data_json(),
            Some("2")
        );
        assert_eq!(counted.0.load(Ordering::SeqCst), 1);
    });
}

// T13: a store that hangs
#[test]
fn hanging_store_lets_nothing_run_and_calls_are_answered() {
    block_on(async {
        let store = Arc::<LaterStore>::default();
        let policy = open_policy()
            .store_deadline(Duration::from_millis(500))
            .category_budget(Category::Action, Some(1));
        let (counted, session) = over(&store, policy).await;
        store.hangs(true);
        is_refused(&session, "act").await;
        assert_eq!(counted.0.load(Ordering::SeqCst), 0);
        store.hangs(false);
        assert!(
            session.call(call("c", "act", json!({}))).await.is_ok(),
            "nothing was charged meanwhile"
        );
    });
}
