//! When the toolsets of runtimes and sessions are set up and closed.

use crate::support::{Counter, call, kind, message, open, runtime, tools};
use futures_util::future::join_all;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::Notify;
use tool_core::tool::LifecycleFuture;
use tool_core::{ErrorKind, Mode, Policy, RunContext, Tool, ToolContext, Toolset, ToolsetExt, toolset};

/// A toolset that counts, and whose setup may be told to fail, to wait or to hang.
#[derive(Clone, Default)]
struct Database {
    opened: Counter,
    closed: Counter,
    fails: Arc<AtomicBool>,
    hangs: Arc<AtomicBool>,
    go: Option<Arc<Notify>>,
}

#[toolset(discover = false)]
impl Database {
    #[setup]
    async fn open(&self) -> Result<(), String> {
        self.opened.add();
        if self.hangs.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
        if let Some(go) = &self.go {
            go.notified().await;
        }
        if self.fails.load(Ordering::Relaxed) { Err("no database".into()) } else { Ok(()) }
    }

    #[close]
    fn shut(&self) {
        self.closed.add();
    }

    /// Query.
    #[tool]
    fn query(&self) -> bool {
        true
    }
}

impl Database {
    fn counts(&self) -> (u32, u32) {
        (self.opened.get(), self.closed.get())
    }
}

struct Closing(Counter);

#[toolset(discover = false)]
impl Closing {
    #[close]
    fn shut(&self) {
        self.0.add();
    }

    /// Work.
    #[tool]
    fn work(&self) -> bool {
        true
    }
}

/// A toolset written by hand, around two others.
struct Outer {
    opened: Counter,
    closed: Counter,
    nested: [Arc<dyn Toolset>; 2],
}

impl Toolset for Outer {
    fn id(&self) -> &'static str {
        "outer"
    }

    fn tools(self: Arc<Self>) -> Vec<Tool> {
        self.nested.iter().cloned().map(Tool::Toolset).collect()
    }

    fn setup(&self) -> LifecycleFuture<'_> {
        self.opened.add();
        Box::pin(async { Ok(()) })
    }

    fn close(&self) -> LifecycleFuture<'_> {
        self.closed.add();
        Box::pin(async { Ok(()) })
    }
}

/// Lets the spawned closes run.
async fn settle() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

// L6
#[tokio::test]
async fn bare_call_without_setup_says_what_to_call() {
    let database = Database::default();
    let tools = tools![database.clone()];
    let ctx = RunContext::detached();
    let refused = tools.call("query", "{}", &ctx).await;
    assert_eq!(kind(&refused), Some(ErrorKind::Permanent));
    let text = "toolset `database` is not set up; call `ToolContext::setup` before the first bare call, or call the tool \
                in a session, which sets it up";
    assert_eq!(message(&refused), text);
    let (ready, failures) = tools.setup().await;
    assert!(failures.is_empty());
    assert!(ready.call("query", "{}", &ctx).await.is_ok() && tools.call("query", "{}", &ctx).await.is_ok());
    assert!(tools.close().await.is_empty());
    assert_eq!(message(&tools.call("query", "{}", &ctx).await), text);
    assert_eq!(database.counts(), (1, 1));
}

// L6
#[tokio::test]
async fn derived_toolset_without_setup_says_so_too() {
    let tools = tools![Database::default().prefixed("db")];
    let ctx = RunContext::detached();
    assert!(message(&tools.call("db_query", "{}", &ctx).await).contains("is not set up"));
    assert!(tools.setup().await.0.call("db_query", "{}", &ctx).await.is_ok());
}

// L6
#[tokio::test]
async fn first_session_sets_up_and_the_runtime_closes() {
    let database = Database::default();
    let runtime = runtime(tools![database.clone()], Policy::text());
    assert_eq!(database.counts(), (0, 0));
    for id in ["1", "2"] {
        let session = open(&runtime, id, Mode::Text).await;
        assert!(call(&session, "query", json!({})).await.is_ok());
        session.end().await;
    }
    settle().await;
    assert_eq!(database.counts(), (1, 0), "the runtime keeps it open");
    drop(runtime);
    settle().await;
    assert_eq!(database.counts(), (1, 1));
}

// L6
#[tokio::test]
async fn shutdown_waits_until_the_toolsets_are_closed() {
    let (database, closed) = (Database::default(), Counter::default());
    let runtime = runtime(tools![database.clone(), Closing(closed.clone())], Policy::text());
    let _session = open(&runtime, "1", Mode::Text).await;
    runtime.shutdown().await;
    assert_eq!((database.counts(), closed.get()), ((1, 1), 1));
    // A session that is opened later sets it up again.
    let session = open(&runtime, "2", Mode::Text).await;
    assert!(call(&session, "query", json!({})).await.is_ok());
    assert_eq!(database.counts(), (2, 1));
}

// L6
#[tokio::test]
async fn tools_of_a_session_close_when_it_ends() {
    let database = Database::default();
    let runtime = runtime(tools![], Policy::text());
    let tools = tools![database.clone()];
    let first = runtime.session("1", Mode::Text).tools(tools.clone()).await.expect("opens");
    let second = runtime.session("2", Mode::Text).tools(tools.clone()).await.expect("opens");
    first.end().await;
    assert!(call(&second, "query", json!({})).await.is_ok());
    assert_eq!(database.counts(), (1, 0));
    second.end().await;
    assert_eq!(database.counts(), (1, 1));
    let third = runtime.session("3", Mode::Text).tools(tools).await.expect("opens");
    drop(third);
    settle().await;
    assert_eq!(database.counts(), (2, 2));
}

// L6
#[tokio::test]
async fn contexts_and_runtimes_share_one_setup() {
    let database = Arc::new(Database::default());
    let of = || ToolContext::builder().with(Arc::clone(&database)).build().expect("sound tools");
    let (one, other) = (runtime(of(), Policy::text()), runtime(of(), Policy::text()));
    let _sessions = (open(&one, "s", Mode::Text).await, open(&other, "s", Mode::Text).await);
    assert_eq!(database.counts(), (1, 0));
    one.shutdown().await;
    assert_eq!(database.counts(), (1, 0));
    other.shutdown().await;
    assert_eq!(database.counts(), (1, 1));
}

// L6
#[tokio::test]
async fn explicit_setup_counts_and_closes_explicitly() {
    let database = Database::default();
    let tools = tools![database.clone()];
    assert!(tools.setup().await.1.is_empty() && tools.setup().await.1.is_empty());
    let runtime = runtime(tools.clone(), Policy::text());
    open(&runtime, "s", Mode::Text).await.end().await;
    runtime.shutdown().await;
    drop(runtime);
    settle().await;
    assert_eq!(database.counts(), (1, 0));
    assert!(tools.close().await.is_empty());
    assert_eq!(database.counts(), (1, 1));
}

// L6
#[tokio::test]
async fn session_lacks_toolset_that_fails_and_retries_later() {
    let (database, closed) = (Database::default(), Counter::default());
    database.fails.store(true, Ordering::Relaxed);
    let runtime = runtime(tools![database.clone(), Closing(closed.clone())], Policy::text());
    let without = open(&runtime, "1", Mode::Text).await;
    assert_eq!(kind(&call(&without, "query", json!({})).await), Some(ErrorKind::NotFound));
    assert!(call(&without, "work", json!({})).await.is_ok());
    assert!(!without.tools().has_tool("query") && runtime.tools().has_tool("query"));
    database.fails.store(false, Ordering::Relaxed);
    let with = open(&runtime, "2", Mode::Text).await;
    assert!(call(&with, "query", json!({})).await.is_ok());
    runtime.shutdown().await;
    assert_eq!((database.counts(), closed.get()), ((2, 1), 1));
}

// L6
#[tokio::test]
async fn toolset_around_a_failed_one_opens_and_closes_once() {
    let (sound, failing) = (Database::default(), Database::default());
    failing.fails.store(true, Ordering::Relaxed);
    let (opened, closed) = (Counter::default(), Counter::default());
    let nested: [Arc<dyn Toolset>; 2] = [Arc::new(sound.clone()), Arc::new(failing.prefixed("other"))];
    let tools = tools![Outer { opened: opened.clone(), closed: closed.clone(), nested }];
    let runtime = runtime(tools![], Policy::text());
    let first = runtime.session("1", Mode::Text).tools(tools).await.expect("opens");
    assert!(first.tools().has_tool("query") && !first.tools().has_tool("other_query"));
    let second = runtime.session("2", Mode::Text).tools(first.tools().clone()).await.expect("opens");
    first.end().await;
    assert!(call(&second, "query", json!({})).await.is_ok());
    assert_eq!((opened.get(), closed.get(), sound.counts()), (1, 0, (1, 0)));
    second.end().await;
    assert_eq!((opened.get(), closed.get(), sound.counts()), (1, 1, (1, 1)));
}

// L6
#[tokio::test]
async fn sessions_that_open_at_once_share_one_setup() {
    for fails in [false, true] {
        let go = Arc::new(Notify::new());
        let database = Database { go: Some(Arc::clone(&go)), ..Database::default() };
        database.fails.store(fails, Ordering::Relaxed);
        let runtime = runtime(tools![database.clone()], Policy::text());
        let opening = (0..20).map(|id| {
            let runtime = runtime.clone();
            tokio::spawn(async move { open(&runtime, &id.to_string(), Mode::Text).await })
        });
        let opening = opening.collect::<Vec<_>>();
        settle().await;
        go.notify_one();
        let sessions = join_all(opening).await;
        assert!(sessions.iter().all(|session| session.as_ref().expect("opens").tools().has_tool("query") != fails));
        assert_eq!(database.counts(), (1, 0));
    }
}

// L6
#[tokio::test(start_paused = true)]
async fn setup_that_hangs_is_given_up() {
    let database = Database::default();
    database.hangs.store(true, Ordering::Relaxed);
    let runtime = runtime(tools![database.clone()], Policy::text());
    let began = tokio::time::Instant::now();
    let session = open(&runtime, "1", Mode::Text).await;
    assert_eq!(began.elapsed(), Duration::from_secs(30));
    assert!(!session.tools().has_tool("query"));
}

// L6
#[tokio::test]
async fn replaced_tools_close_after_their_last_session() {
    let database = Database::default();
    let runtime = runtime(tools![database.clone()], Policy::text());
    let session = open(&runtime, "1", Mode::Text).await;
    runtime.update_tools(tools![]).expect("sound tools");
    settle().await;
    assert!(call(&session, "query", json!({})).await.is_ok());
    assert_eq!(database.counts(), (1, 0));
    session.end().await;
    drop(session);
    settle().await;
    assert_eq!(database.counts(), (1, 1));
}
