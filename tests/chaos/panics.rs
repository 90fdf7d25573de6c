//! T6: panics in tools, and poisoned locks.

use crate::support::{block_on, call, kind, on_threads, open_policy, pause, quiet, session};
use serde::{Serialize, Serializer};
use serde_json::json;
use std::cell::Cell;
use std::collections::HashSet;
use std::sync::Mutex;
use tool_core::{ErrorKind, Session, ToolContext, tool, toolset};

/// Panic at once.
#[tool]
fn sync_panic(n: u32) -> u32 {
    panic!("provoked {n}")
}

/// Panic before waiting.
#[tool]
async fn before_await(n: u32) -> u32 {
    assert!(n > u32::MAX - 1, "provoked");
    pause().await;
    n
}

/// Panic after waiting.
#[tool]
async fn after_await(n: u32) -> u32 {
    pause().await;
    panic!("provoked {n}")
}

struct Bomb;

thread_local! {
    /// The bombs that this thread has dropped.
    static DROPPED: Cell<u32> = const { Cell::new(0) };
}

impl Drop for Bomb {
    fn drop(&mut self) {
        DROPPED.set(DROPPED.get() + 1);
        assert!(std::thread::panicking(), "provoked in drop");
    }
}

/// Panic while dropping what is left.
#[tool]
async fn in_drop(n: u32) -> u32 {
    let _bomb = Bomb;
    pause().await;
    n
}

struct Sour;

impl Serialize for Sour {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        panic!("provoked while serialising")
    }
}

impl schemars::JsonSchema for Sour {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Sour".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        true.into()
    }
}

/// Panic while the result is written.
#[tool]
fn while_serialising(n: u32) -> Sour {
    _ = n;
    Sour
}

/// Panic on another thread.
#[tool(blocking)]
fn on_the_pool(n: u32) -> u32 {
    panic!("provoked {n}")
}

/// Add one.
#[tool]
fn sound(n: u32) -> u32 {
    n + 1
}

const KINDS: [&str; 6] = [
    "sync_panic",
    "before_await",
    "after_await",
    "in_drop",
    "while_serialising",
    "on_the_pool",
];

fn every_kind() -> ToolContext {
    let tools = ToolContext::builder()
        .with(sync_panic)
        .with(before_await)
        .with(after_await)
        .with(in_drop);
    tools
        .with(while_serialising)
        .with(on_the_pool)
        .with(sound)
        .build()
        .expect("sound")
}

async fn still_works(session: &Session) {
    let response = session.call(call("last", "sound", json!({"n": 1}))).await;
    assert_eq!(response.data_json(), Some("2"), "{response}");
}

// T6
#[test]
fn every_one_of_10_000_panicking_calls_is_answered() {
    quiet();
    on_threads(async {
        let session = session(every_kind(), open_policy()).await;
        let mut answered = HashSet::new();
        for step in 0..100_u32 {
            let calls = (0..100).map(|n| {
                let number = step * 100 + n;
                call(
                    number,
                    KINDS[number as usize % KINDS.len()],
                    json!({"n": number}),
                )
            });
            for response in session.call_all(calls).await {
                let error = response.error().expect("it panicked");
                assert_eq!(error.kind, ErrorKind::Internal, "{response}");
                assert!(error.partial_side_effects && !error.retryable, "{response}");
                assert!(!error.message.contains("provoked"), "{response}");
                answered.insert(response.meta().call_id().expect("an id").to_owned());
            }
        }
        assert_eq!(answered.len(), 10_000);
        still_works(&session).await;
    });
}

// T6, T8
#[test]
fn panic_while_a_call_is_dropped_is_contained() {
    quiet();
    block_on(async {
        let session = session(every_kind(), open_policy()).await;
        for n in 0..100 {
            let mut given_up = Box::pin(session.call(call(n, "in_drop", json!({"n": n}))));
            let first =
                std::future::poll_fn(|cx| std::task::Poll::Ready(given_up.as_mut().poll(cx))).await;
            assert!(first.is_pending());
            drop(given_up);
        }
        assert_eq!(DROPPED.get(), 100, "every call held its bomb");
        still_works(&session).await;
    });
}

#[derive(Default)]
struct Shelf(Mutex<u32>);

#[toolset(discover = false)]
impl Shelf {
    /// Break the lock.
    #[tool]
    fn poison(&self) -> u32 {
        let _held = self.0.lock();
        panic!("provoked under a lock")
    }

    /// Use the lock.
    #[tool]
    fn put(&self) -> Result<u32, String> {
        let mut held = self
            .0
            .lock()
            .map_err(|_| "the shelf is broken".to_owned())?;
        *held += 1;
        Ok(*held)
    }

    /// Use nothing.
    #[tool]
    fn look(&self) -> u32 {
        7
    }
}

// T6
#[test]
fn poisoned_lock_affects_its_own_tool_only() {
    quiet();
    block_on(async {
        let session = session(crate::support::tools(Shelf::default()), open_policy()).await;
        assert_eq!(
            kind(&session.call(call(1, "poison", json!({}))).await),
            ErrorKind::Internal
        );
        let put = session.call(call(2, "put", json!({}))).await;
        assert_eq!(
            put.error().map(|error| &*error.message),
            Some("the shelf is broken")
        );
        assert_eq!(
            session.call(call(3, "look", json!({}))).await.data_json(),
            Some("7")
        );
    });
}
