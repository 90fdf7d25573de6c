//! When the toolsets of runtimes and sessions are set up and closed.

use crate::support::{Counter, call, kind, message, open, runtime, tools};
use futures_util::future::join_all;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::timeout;
use tool_core::tool::LifecycleFuture;
use tool_core::{
    ErrorKind, Mode, Policy, RunContext, Runtime, Tool, ToolContext, Toolset, ToolsetExt, toolset,
};

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
        if self.fails.load(Ordering::Relaxed) {
            Err("no database".into())
        } else {
            Ok(())
        }
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

struct Panicking;

#[toolset(discover = false)]
impl Panicking {
    #[setup]
    fn open(&self) {
        panic!("canary");
    }

    /// Crash.
    #[tool]
    fn crash(&self) -> bool {
        true
    }
}

/// A toolset written by hand, around others.
#[derive(Default)]
struct Outer {
    opened: Counter,
    closed: Counter,
    fails: bool,
    /// The time that its setup takes.
    takes: Duration,
    nested: Vec<Arc<dyn Toolset>>,
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
        Box::pin(async {
            tokio::time::sleep(self.takes).await;
            if self.fails {
                Err("no outer".into())
            } else {
                Ok(())
            }
        })
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
    assert!(
        ready.call("query", "{}", &ctx).await.is_ok()
            && tools.call("query", "{}", &ctx).await.is_ok()
    );
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
    assert!(
        tools
            .setup()
            .await
            .0
            .call("db_query", "{}", &ctx)
            .await
            .is_ok()
    );
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
    let runtime = runtime(
        tools![database.clone(), Closing(closed.clone())],
        Policy::text(),
    );
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
    let first = runtime
        .session("1", Mode::Text)
        .tools(tools.clone())
        .await
        .expect("opens");
    let second = runtime
        .session("2", Mode::Text)
        .tools(tools.clone())
        .await
        .expect("opens");
    first.end().await;
    assert!(call(&second, "query", json!({})).await.is_ok());
    assert_eq!(database.counts(), (1, 0));
    second.end().await;
    assert_eq!(database.counts(), (1, 1));
    let third = runtime
        .session("3", Mode::Text)
        .tools(tools)
        .await
        .expect("opens");
    drop(third);
    settle().await;
    assert_eq!(database.counts(), (2, 2));
}

// L6
#[tokio::test]
async fn contexts_and_runtimes_share_one_setup() {
    let database = Arc::new(Database::default());
    let of = || {
        ToolContext::builder()
            .with(Arc::clone(&database))
            .build()
            .expect("sound tools")
    };
    let (one, other) = (runtime(of(), Policy::text()), runtime(of(), Policy::text()));
    let _sessions = (
        open(&one, "s", Mode::Text).await,
        open(&other, "s", Mode::Text).await,
    );
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
    let runtime = runtime(
        tools![database.clone(), Closing(closed.clone())],
        Policy::text(),
    );
    let without = open(&runtime, "1", Mode::Text).await;
    assert_eq!(
        kind(&call(&without, "query", json!({})).await),
        Some(ErrorKind::Permanent)
    );
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
async fn call_and_host_learn_why_a_toolset_is_left_out() {
    let database = Database::default();
    database.fails.store(true, Ordering::Relaxed);
    let runtime = runtime(tools![database], Policy::text());
    let session = open(&runtime, "1", Mode::Text).await;
    let text = "`query` is not available, as the setup of toolset `database` failed: no database; do without it, or try it \
                in a later session";
    assert_eq!(message(&call(&session, "query", json!({})).await), text);
    assert!(message(&call(&session, "quer", json!({})).await).contains("no tools are available"));
    let failures = session
        .tools()
        .setup_failures()
        .map(|failure| (&*failure.toolset, failure.error.message()));
    assert_eq!(failures.collect::<Vec<_>>(), [("database", "no database")]);
    assert_eq!(runtime.tools().setup_failures().count(), 0);
    // A session with the tools of this one knows it as well.
    let second = runtime
        .session("2", Mode::Text)
        .tools(session.tools().clone())
        .await
        .expect("opens");
    assert_eq!(message(&call(&second, "query", json!({})).await), text);
    assert_eq!(second.tools().setup_failures().count(), 1);
}

// L6
#[tokio::test]
async fn internal_error_of_a_setup_is_masked_for_models() {
    let tools = tools![Panicking];
    let (rest, _) = tools.setup().await;
    let (runtime, ctx) = (
        runtime(tools.clone(), Policy::text()),
        RunContext::detached(),
    );
    let session = open(&runtime, "1", Mode::Text).await;
    let answers = [
        call(&session, "crash", json!({})).await,
        rest.call("crash", "{}", &ctx).await,
        tools.call("crash", "{}", &ctx).await,
    ];
    for answer in answers {
        assert!(
            message(&answer).contains("`panicking`")
                && message(&answer).contains("An internal error occurred")
        );
        assert!(!answer.to_json().contains("canary"));
    }
}

// L6
#[tokio::test]
async fn bare_call_after_a_failed_setup_says_why() {
    let database = Database::default();
    database.fails.store(true, Ordering::Relaxed);
    let tools = tools![database.clone()];
    let (rest, _) = tools.setup().await;
    let ctx = RunContext::detached();
    let (before, after) = (
        tools.call("query", "{}", &ctx).await,
        rest.call("query", "{}", &ctx).await,
    );
    assert!(
        message(&before)
            .contains("is not set up, as its setup failed: no database; call `ToolContext::setup`")
    );
    assert!(message(&after).contains("the setup of toolset `database` failed: no database"));
}

// L6
#[tokio::test]
async fn failure_of_a_hidden_toolset_stays_hidden() {
    let database = Database::default();
    database.fails.store(true, Ordering::Relaxed);
    let (rest, _) = tools![database.dynamic(|_| false)].setup().await;
    let answer = rest.call("query", "{}", &RunContext::detached()).await;
    assert_eq!(kind(&answer), Some(ErrorKind::NotFound));
    assert!(!message(&answer).contains("database"));
}

// L6
#[tokio::test]
async fn tool_outside_any_context_without_setup_says_so() {
    let database = Database::default();
    let (tools, ctx) = (
        tools![database.clone().prefixed("db"), Closing(Counter::default())],
        RunContext::detached(),
    );
    let query = tools.function_tool("db_query").expect("a tool").clone();
    for tool in [query.clone(), query.renamed("other")] {
        assert!(
            message(&tool.call("{}", &ctx).await)
                .starts_with("toolset `database` is not set up; call")
        );
    }
    let (ready, _) = tools.setup().await;
    assert!(
        query.call("{}", &ctx).await.is_ok()
            && query.renamed("other").call("{}", &ctx).await.is_ok()
    );
    ready.close().await;
    assert!(!query.call("{}", &ctx).await.is_ok());
    assert!(
        ready
            .function_tool("work")
            .expect("a tool")
            .call("{}", &ctx)
            .await
            .is_ok()
    );
    assert_eq!(database.counts(), (1, 1));
}

// L6
#[tokio::test]
async fn failed_explicit_setup_leaves_shared_toolsets_open() {
    let (shared, own, before) = (
        Database::default(),
        Database::default(),
        Database::default(),
    );
    let nested =
        [&shared, &own, &before].map(|database| Arc::new(database.clone()) as Arc<dyn Toolset>);
    let runtime = runtime(tools![Arc::clone(&nested[0])], Policy::text());
    let session = open(&runtime, "1", Mode::Text).await;
    let explicit = tools![Arc::clone(&nested[2])];
    assert!(explicit.setup().await.1.is_empty());

    for toolset in nested {
        let outer = Outer {
            fails: true,
            nested: vec![toolset],
            ..Outer::default()
        };
        let (rest, failures) = tools![outer].setup().await;
        assert_eq!((failures.len(), rest.function_tools().len()), (1, 0));
    }
    assert_eq!(
        [shared.counts(), own.counts(), before.counts()],
        [(1, 0), (1, 1), (1, 0)]
    );
    assert!(call(&session, "query", json!({})).await.is_ok());
    assert!(
        explicit
            .call("query", "{}", &RunContext::detached())
            .await
            .is_ok()
    );
    // The setup that failed does not keep the shared one open.
    runtime.shutdown().await;
    assert_eq!(shared.counts(), (1, 1));
}

// L6
#[tokio::test(start_paused = true)]
async fn failed_setup_leaves_what_another_set_up_meanwhile() {
    let database = Database::default();
    let nested: Arc<dyn Toolset> = Arc::new(database.clone());
    let takes = Duration::from_secs(1);
    let failing = tools![Outer {
        fails: true,
        takes,
        nested: vec![Arc::clone(&nested)],
        ..Outer::default()
    }];
    let other = tools![nested];
    let meanwhile = async {
        tokio::time::sleep(takes / 2).await;
        other.setup().await
    };
    let ((_, failures), (_, none)) = tokio::join!(failing.setup(), meanwhile);
    assert_eq!(
        (failures.len(), none.len(), database.counts()),
        (1, 0, (1, 0))
    );
    assert!(
        other
            .call("query", "{}", &RunContext::detached())
            .await
            .is_ok()
    );
}

// L6
#[tokio::test]
async fn failed_toolset_leaves_the_same_one_beside_it_open() {
    let database = Database::default();
    let nested: Arc<dyn Toolset> = Arc::new(database.clone());
    let outer = Outer {
        fails: true,
        nested: vec![Arc::clone(&nested)],
        ..Outer::default()
    };
    let tools = tools![outer, nested];
    let (rest, failures) = tools.setup().await;
    assert_eq!(failures.len(), 1);
    assert!(
        rest.call("query", "{}", &RunContext::detached())
            .await
            .is_ok()
    );
    assert_eq!(database.counts(), (1, 0));
}

// L6
#[tokio::test]
async fn session_closes_toolsets_inside_of_a_failed_one() {
    let database = Database::default();
    let outer = Outer {
        fails: true,
        nested: vec![Arc::new(database.clone())],
        ..Outer::default()
    };
    let runtime = runtime(tools![outer], Policy::text());
    let _session = open(&runtime, "1", Mode::Text).await;
    settle().await;
    assert_eq!(database.counts(), (1, 1));
}

// L6
#[tokio::test]
async fn derived_toolset_shares_the_state_of_its_originals() {
    let database = Database::default();
    let nested: Arc<dyn Toolset> = Arc::new(database.clone());
    let of = |prefix| {
        Outer {
            nested: vec![Arc::clone(&nested)],
            ..Outer::default()
        }
        .prefixed(prefix)
    };
    let runtimes = [
        tools![of("a")],
        tools![of("b")],
        tools![Arc::clone(&nested)],
    ]
    .map(|tools| runtime(tools, Policy::text()));
    let mut sessions = Vec::new();
    for (runtime, tool) in runtimes.iter().zip(["a_query", "b_query", "query"]) {
        let session = open(runtime, "1", Mode::Text).await;
        assert!(call(&session, tool, json!({})).await.is_ok());
        sessions.push((session, tool));
    }
    assert_eq!(database.counts(), (1, 0));
    runtimes[0].shutdown().await;
    runtimes[2].shutdown().await;
    assert!(call(&sessions[1].0, "b_query", json!({})).await.is_ok());
    assert_eq!(database.counts(), (1, 0));
    runtimes[1].shutdown().await;
    assert_eq!(database.counts(), (1, 1));
    // An explicit setup of the original counts for the derived ones.
    assert!(tools![nested].setup().await.1.is_empty());
    let session = runtimes[0].session("2", Mode::Text).await.expect("opens");
    assert!(call(&session, "a_query", json!({})).await.is_ok());
    runtimes[0].shutdown().await;
    assert_eq!(database.counts(), (2, 1));
}

// L6
#[tokio::test]
async fn derived_toolset_opens_all_originals_or_none() {
    let (sound, failing) = (Database::default(), Database::default());
    failing.fails.store(true, Ordering::Relaxed);
    let nested: Vec<Arc<dyn Toolset>> = vec![
        Arc::new(sound.clone()),
        Arc::new(failing.clone().prefixed("other")),
    ];
    let tools = tools![
        Outer {
            nested,
            ..Outer::default()
        }
        .filtered(|_| true)
    ];
    let (rest, failures) = tools.setup().await;
    assert_eq!(
        (rest.function_tools().len(), failures.len(), sound.counts()),
        (0, 1, (1, 1))
    );
    failing.fails.store(false, Ordering::Relaxed);
    assert!(tools.setup().await.1.is_empty());
    assert!(tools.close().await.is_empty());
    assert_eq!((sound.counts(), failing.counts()), ((2, 2), (2, 1)));
}

// L6
#[tokio::test]
async fn toolset_around_a_failed_one_opens_and_closes_once() {
    let (sound, failing) = (Database::default(), Database::default());
    failing.fails.store(true, Ordering::Relaxed);
    let (opened, closed) = (Counter::default(), Counter::default());
    let nested: Vec<Arc<dyn Toolset>> =
        vec![Arc::new(sound.clone()), Arc::new(failing.prefixed("other"))];
    let tools = tools![Outer {
        opened: opened.clone(),
        closed: closed.clone(),
        nested,
        ..Outer::default()
    }];
    let runtime = runtime(tools![], Policy::text());
    let first = runtime
        .session("1", Mode::Text)
        .tools(tools)
        .await
        .expect("opens");
    assert!(first.tools().has_tool("query") && !first.tools().has_tool("other_query"));
    let second = runtime
        .session("2", Mode::Text)
        .tools(first.tools().clone())
        .await
        .expect("opens");
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
        let database = Database {
            go: Some(Arc::clone(&go)),
            ..Database::default()
        };
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
        assert!(
            sessions.iter().all(|session| session
                .as_ref()
                .expect("opens")
                .tools()
                .has_tool("query")
                != fails)
        );
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

/// Begins to open a session, and stops waiting for it while its toolset is set up.
async fn given_up_opening(runtime: &Runtime) {
    let runtime = runtime.clone();
    let opening = tokio::spawn(async move { open(&runtime, "1", Mode::Text).await });
    settle().await;
    opening.abort();
    settle().await;
}

// L6
#[tokio::test]
async fn setup_goes_on_without_the_caller_who_began_it() {
    let go = Arc::new(Notify::new());
    let database = Database {
        go: Some(Arc::clone(&go)),
        ..Database::default()
    };
    let runtime = runtime(tools![database.clone()], Policy::text());
    given_up_opening(&runtime).await;
    go.notify_one();
    let session = open(&runtime, "2", Mode::Text).await;
    assert!(call(&session, "query", json!({})).await.is_ok());
    assert_eq!(database.counts(), (1, 0));
}

// L6
#[tokio::test]
async fn setup_that_nobody_waits_for_is_closed() {
    let go = Arc::new(Notify::new());
    let database = Database {
        go: Some(Arc::clone(&go)),
        ..Database::default()
    };
    let runtime = runtime(tools![database.clone()], Policy::text());
    given_up_opening(&runtime).await;
    go.notify_one();
    settle().await;
    assert_eq!(database.counts(), (1, 1));
}

/// A toolset whose close takes 100 ms.
struct SlowToClose;

#[toolset(discover = false)]
impl SlowToClose {
    #[close]
    async fn shut(&self) {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }

    /// Work slowly.
    #[tool]
    fn work_slowly(&self) -> bool {
        true
    }
}

// R-I3
#[tokio::test(start_paused = true)]
async fn session_ends_if_its_caller_stops_waiting() {
    let runtime = runtime(tools![], Policy::text());
    let opening = runtime.session("1", Mode::Text).tools(tools![SlowToClose]);
    let session = opening.await.expect("opens");
    let ended = timeout(Duration::from_millis(1), session.end()).await;
    assert!(ended.is_err());
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(session.state().ended);
}

// R-I3, R-I4
#[tokio::test]
async fn late_renewal_of_an_ended_session_renews_the_later_one() {
    let runtime = runtime(tools![], Policy::text());
    let first = open(&runtime, "s", Mode::Text).await;
    let go = Arc::new(Notify::new());
    let database = Database {
        go: Some(Arc::clone(&go)),
        ..Database::default()
    };
    let with_database = runtime
        .session("s", Mode::Text)
        .tools(tools![database.clone()]);
    let renewal = tokio::spawn(async move { with_database.renewed().await });
    while database.opened.get() == 0 {
        tokio::task::yield_now().await;
    }

    first.end().await;
    let later = open(&runtime, "s", Mode::Text).await;
    while !renewal.is_finished() {
        go.notify_one();
        tokio::task::yield_now().await;
    }
    let renewed = renewal.await.expect("it ends").expect("a session");
    assert!(call(&renewed, "query", json!({})).await.is_ok());
    runtime.shutdown().await;
    let after = call(&later, "missing", json!({})).await;
    assert_eq!(kind(&after), Some(ErrorKind::SessionInactive));
}

// R-I3
#[tokio::test]
async fn late_opening_of_an_ended_session_joins_the_later_one() {
    let runtime = runtime(tools![], Policy::text());
    let go = Arc::new(Notify::new());
    let database = Database {
        go: Some(Arc::clone(&go)),
        ..Database::default()
    };
    let with_database = runtime
        .session("s", Mode::Text)
        .tools(tools![database.clone()]);
    let opening = tokio::spawn(async move { with_database.await });
    while database.opened.get() == 0 {
        tokio::task::yield_now().await;
    }

    open(&runtime, "s", Mode::Text).await.end().await;
    let later = open(&runtime, "s", Mode::Text).await;
    go.notify_one();
    let joined = opening.await.expect("it ends").expect("a session");
    joined.end().await;
    let after = call(&later, "missing", json!({})).await;
    assert_eq!(kind(&after), Some(ErrorKind::SessionInactive));
}
