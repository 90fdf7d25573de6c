//! Deadlines of tools.

use crate::support::{Counter, OnDrop, asked, call, kind, message, runtime, text, tools};
use futures_util::Stream;
use futures_util::future::join_all;
use futures_util::stream::poll_fn;
use serde_json::json;
use std::pin::pin;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::time::{Instant, advance};
use tool_core::{ErrorKind, Mode, Policy, RunContext, Runtime, Session, toolset};

#[derive(Clone, Default)]
struct Slow {
    runs: Counter,
    dropped: Counter,
    cancelled: Arc<Notify>,
}

#[toolset(name = "slow_in_deadlines")]
impl Slow {
    /// Take for ever.
    #[tool(name = "forever")]
    async fn forever(&self) {
        let _guard = OnDrop(self.dropped.clone());
        self.runs.add();
        std::future::pending::<()>().await;
    }

    /// Take for ever, but not for long.
    #[tool(name = "half_a_second", timeout = "500ms")]
    async fn half_a_second(&self) {
        self.forever().await;
    }

    /// Take the given time.
    #[tool(name = "sleep", timeout = "1s")]
    async fn sleep(&self, ms: u64) -> u64 {
        tokio::time::sleep(Duration::from_millis(ms)).await;
        ms
    }

    /// Spawn a task that waits for the cancellation.
    #[tool(name = "spawn", timeout = "1s")]
    async fn spawn(&self, ctx: &RunContext) {
        let (token, heard) = (ctx.cancellation().clone(), Arc::clone(&self.cancelled));
        ctx.spawn(async move {
            token.cancelled().await;
            heard.notify_one();
        });
        std::future::pending::<()>().await;
    }

    /// Count for ever. Each number takes 10 ms, and is ready when it is asked for.
    #[tool(name = "count", timeout = "1s")]
    fn count(&self) -> impl Stream<Item = u32> + Send + use<> {
        let runs = self.runs.clone();
        poll_fn(move |cx| {
            // One poll moves the clock.
            let _ = pin!(advance(Duration::from_millis(10))).poll(cx);
            Poll::Ready(Some(runs.add()))
        })
    }

    /// Return the remaining time in milliseconds.
    #[tool(name = "left", timeout = "7s")]
    async fn left(&self, ctx: &RunContext) -> u128 {
        self.runs.add();
        let left = ctx.deadline().map(|at| at - Instant::now().into_std());
        left.unwrap_or_default().as_millis()
    }
}

async fn session(policy: Policy) -> (Session, Slow) {
    let slow = Slow::default();
    (text(tools![slow.clone()], policy).await, slow)
}

/// Calls a tool that never ends, and returns the time until the response.
async fn given_up_after(session: &Session, tool: &str) -> Duration {
    let began = Instant::now();
    let response = call(session, tool, json!({})).await;
    assert_eq!(kind(&response), Some(ErrorKind::Timeout));
    began.elapsed()
}

fn within(limit: u64, taken: Duration) -> bool {
    (Duration::from_millis(limit)..=Duration::from_millis(limit + 50)).contains(&taken)
}

// R-B5
#[tokio::test(start_paused = true)]
async fn default_deadline_is_30_seconds() {
    let (session, _) = session(Policy::text()).await;
    let taken = given_up_after(&session, "forever").await;
    assert!(within(30_000, taken), "{taken:?}");
}

// R-B5
#[tokio::test(start_paused = true)]
async fn timeout_of_a_tool_overrides_the_policy() {
    let (session, _) = session(Policy::text().deadline(Duration::from_millis(1200))).await;
    let taken = [
        given_up_after(&session, "forever").await,
        given_up_after(&session, "half_a_second").await,
    ];
    assert!(within(1200, taken[0]) && within(500, taken[1]), "{taken:?}");
}

// R-B5
#[tokio::test(start_paused = true)]
async fn call_within_its_deadline_is_answered() {
    let (session, _) = session(Policy::text()).await;
    assert!(call(&session, "sleep", json!({"ms": 999})).await.is_ok());
    assert_eq!(
        kind(&call(&session, "sleep", json!({"ms": 1001})).await),
        Some(ErrorKind::Timeout)
    );
}

// R-B5
#[tokio::test(start_paused = true)]
async fn future_is_dropped_before_the_timeout_answer() {
    let (session, slow) = session(Policy::text()).await;
    given_up_after(&session, "half_a_second").await;
    assert_eq!((slow.runs.get(), slow.dropped.get()), (1, 1));
}

// R-B5
#[tokio::test(start_paused = true)]
async fn timeout_error_has_the_figures() {
    let (session, _) = session(Policy::text()).await;
    let response = call(&session, "half_a_second", json!({})).await;
    let said = message(&response);
    assert!(
        said.starts_with("`half_a_second` timed out after 50"),
        "{said}"
    );
    assert!(said.ends_with(" ms running; its limit is 500 ms"), "{said}");
}

// R-B5
#[tokio::test(start_paused = true)]
async fn spawned_task_of_a_late_tool_is_cancelled() {
    let (session, slow) = session(Policy::text()).await;
    given_up_after(&session, "spawn").await;
    slow.cancelled.notified().await;
}

// R-B5
#[tokio::test(start_paused = true)]
async fn tool_can_read_its_remaining_time() {
    let (session, _) = session(Policy::text()).await;
    assert_eq!(
        call(&session, "left", json!({})).await.data_json(),
        Some("7000")
    );
}

// R-B5
#[tokio::test(start_paused = true)]
async fn waiting_time_counts_towards_the_deadline() {
    let (session, slow) = session(Policy::text().concurrent_calls(1)).await;
    let began = Instant::now();
    let responses = session
        .call_all([asked("forever", json!({})), asked("left", json!({}))])
        .await;
    let late = responses[1].error().expect("an error");
    assert_eq!(
        (late.kind, late.partial_side_effects, slow.runs.get()),
        (ErrorKind::Timeout, false, 1)
    );
    assert!(
        late.message
            .contains("waiting for other calls of the session"),
        "{}",
        late.message
    );
    assert!(within(7000, responses[1].meta().duration()) && within(30_000, began.elapsed()));
}

// R-B5
#[tokio::test(start_paused = true)]
async fn deadline_reaches_a_stream_that_is_always_ready() {
    let (session, slow) = session(Policy::text()).await;
    let taken = given_up_after(&session, "count").await;
    assert!(within(1000, taken), "{taken:?}");
    assert!(
        (100..=101).contains(&slow.runs.get()),
        "{}",
        slow.runs.get()
    );
}

// R-B5
#[tokio::test(start_paused = true)]
async fn cancellation_reaches_a_stream_that_is_always_ready() {
    let (session, slow) = session(Policy::text()).await;
    let counting = tokio::spawn({
        let session = session.clone();
        async move { call(&session, "count", json!({})).await }
    });
    while slow.runs.get() < 5 {
        tokio::task::yield_now().await;
    }
    session.interrupt();
    let response = counting.await.expect("a response");
    assert_eq!(kind(&response), Some(ErrorKind::Cancelled));
    assert!(slow.runs.get() <= 7, "{}", slow.runs.get());
}

/// Tools that block their thread until they are released.
#[derive(Clone, Default)]
struct Threads(Arc<Gate>);

#[derive(Default)]
struct Gate {
    runs: Counter,
    ended: Counter,
    began: Notify,
    open: Mutex<u32>,
    opened: Condvar,
}

impl Gate {
    /// Releases this many.
    fn open(&self, calls: u32) {
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) += calls;
        self.opened.notify_all();
    }

    fn pass(&self) {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let mut open = self
            .opened
            .wait_while(open, |open| *open == 0)
            .unwrap_or_else(PoisonError::into_inner);
        *open -= 1;
    }

    async fn until_running(&self, calls: u32) {
        while self.runs.get() < calls {
            self.began.notified().await;
        }
    }
}

#[toolset(name = "threads_in_deadlines")]
impl Threads {
    /// Keep a thread.
    #[tool(name = "block", blocking, timeout = "2s")]
    fn block(&self, n: u32) -> u32 {
        self.0.runs.add();
        self.0.began.notify_one();
        self.0.pass();
        self.0.ended.add();
        n
    }

    /// Take a thread for a moment.
    #[tool(name = "take_thread", blocking, timeout = "500ms")]
    fn take_thread(&self) -> u32 {
        1
    }

    /// Have another tool take a thread.
    #[tool(name = "delegate")]
    async fn delegate(&self, ctx: &RunContext) -> bool {
        ctx.call("take_thread", json!({})).await.is_ok()
    }

    /// Wait on a thread for another tool.
    #[tool(name = "wait_on_thread", blocking)]
    fn wait_on_thread(&self, ctx: &RunContext, tool: &str) -> String {
        let response = Handle::current().block_on(ctx.call(tool, json!({})));
        response
            .data_json()
            .unwrap_or(message(&response))
            .to_owned()
    }

    /// Wait on a thread for several calls that each need one.
    #[tool(name = "wait_for_many", blocking)]
    fn wait_for_many(&self, ctx: &RunContext, calls: u32) -> usize {
        let calls = (0..calls).map(|n| ctx.call("block", json!({"n": n})));
        let responses = Handle::current().block_on(join_all(calls));
        responses.iter().filter(|response| response.is_ok()).count()
    }

    /// Break on a thread.
    #[tool(name = "block_and_break", blocking)]
    fn block_and_break(&self) {
        panic!("broken on purpose");
    }

    /// Answer at once.
    #[tool(name = "quick")]
    fn quick(&self) -> u32 {
        1
    }
}

async fn threads(policy: Policy) -> (Runtime, Session, Arc<Gate>) {
    let gate = Arc::new(Gate::default());
    let runtime = runtime(tools![Threads(Arc::clone(&gate))], policy);
    let session = runtime.session("s-1", Mode::Text).await.expect("a session");
    (runtime, session, gate)
}

fn begin(session: &Session, n: u32) -> tokio::task::JoinHandle<tool_core::ToolResponse> {
    let session = session.clone();
    tokio::spawn(async move { call(&session, "block", json!({"n": n})).await })
}

// R-B5
#[tokio::test(start_paused = true)]
async fn blocking_call_does_not_stop_other_calls() {
    let (_, session, gate) = threads(Policy::text()).await;
    let blocked = begin(&session, 7);
    gate.until_running(1).await;
    assert!(call(&session, "quick", json!({})).await.is_ok());
    gate.open(1);
    assert_eq!(blocked.await.expect("a response").data_json(), Some("7"));
}

// R-B5
#[tokio::test(start_paused = true)]
async fn late_blocking_call_is_counted_as_detached() {
    let (runtime, session, gate) = threads(Policy::text()).await;
    let blocked = begin(&session, 7);
    gate.until_running(1).await;
    assert_eq!(runtime.detached(), 0);
    advance(Duration::from_secs(2)).await;
    let response = blocked.await.expect("a response");
    assert_eq!(
        (kind(&response), runtime.detached()),
        (Some(ErrorKind::Timeout), 1)
    );
    assert!(
        within(2000, response.meta().duration()),
        "{:?}",
        response.meta().duration()
    );
    assert!(response.error().expect("an error").partial_side_effects);
    gate.open(1);
    while runtime.detached() > 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(gate.ended.get(), 1);
}

// R-B5
#[tokio::test(start_paused = true)]
async fn blocking_pool_is_bounded_by_the_policy() {
    let (_, session, gate) = threads(Policy::text().blocking_threads(2)).await;
    let blocked = [begin(&session, 1), begin(&session, 2), begin(&session, 3)];
    gate.until_running(2).await;
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(gate.runs.get(), 2);
    gate.open(3);
    for call in blocked {
        assert!(call.await.expect("a response").is_ok());
    }
    assert_eq!(gate.runs.get(), 3);
}

// R-B4, R-B5
#[tokio::test]
async fn blocking_tool_can_call_a_blocking_tool() {
    let (_, session, _) = threads(Policy::text().blocking_threads(1)).await;
    for (tool, expected) in [("take_thread", "1"), ("delegate", "true")] {
        let response = call(&session, "wait_on_thread", json!({"tool": tool})).await;
        assert_eq!(response.data::<String>().expect("a text"), expected);
    }
}

// R-B4, R-B5
#[tokio::test]
async fn calls_of_a_blocking_tool_block_one_thread_at_a_time() {
    let (_, session, gate) = threads(Policy::text().blocking_threads(1)).await;
    let waiting = call(&session, "wait_for_many", json!({"calls": 3}));
    let released = async {
        gate.until_running(1).await;
        for _ in 0..100 {
            std::thread::yield_now();
            tokio::task::yield_now().await;
        }
        assert_eq!(gate.runs.get(), 1);
        gate.open(3);
    };
    let (response, ()) = tokio::join!(waiting, released);
    assert_eq!(response.data_json(), Some("3"), "{response}");
}

// R-B5
#[tokio::test(start_paused = true)]
async fn call_without_a_thread_has_no_side_effects() {
    let (_, session, gate) = threads(Policy::text().blocking_threads(1)).await;
    let (first, second) = (begin(&session, 1), begin(&session, 2));
    gate.until_running(1).await;
    advance(Duration::from_secs(2)).await;
    let responses = [
        first.await.expect("a response"),
        second.await.expect("a response"),
    ];
    gate.open(2);
    let late = responses[1].error().expect("an error");
    assert_eq!(
        (late.kind, late.partial_side_effects, gate.runs.get()),
        (ErrorKind::Timeout, false, 1)
    );
}

// R-B5
#[tokio::test(start_paused = true)]
async fn hung_blocking_calls_leave_threads_to_other_sessions() {
    let (runtime, session, gate) = threads(Policy::text()).await;
    let hung = (0..16).map(|n| begin(&session, n)).collect::<Vec<_>>();
    gate.until_running(4).await;
    advance(Duration::from_secs(2)).await;
    for call in hung {
        assert_eq!(
            kind(&call.await.expect("a response")),
            Some(ErrorKind::Timeout)
        );
    }
    assert_eq!((gate.runs.get(), runtime.detached()), (4, 4));

    let other = runtime.session("s-2", Mode::Text).await.expect("a session");
    let served = begin(&other, 7);
    gate.until_running(5).await;
    gate.open(5);
    assert_eq!(served.await.expect("a response").data_json(), Some("7"));
}

// R-B5
#[tokio::test(start_paused = true)]
async fn timeout_without_a_thread_says_why() {
    for (policy, owner, size) in [
        (
            Policy::text().blocking_threads_per_session(1),
            "a session",
            1,
        ),
        (Policy::text().blocking_threads(2), "all sessions", 2),
    ] {
        let (_, session, gate) = threads(policy).await;
        let hung = (0..size).map(|n| begin(&session, n)).collect::<Vec<_>>();
        gate.until_running(size).await;
        advance(Duration::from_secs(1)).await;
        let late = begin(&session, 9);
        tokio::task::yield_now().await;
        // The clock does not move by itself while a thread works.
        advance(Duration::from_secs(1)).await;
        for call in hung {
            call.await.expect("a response");
        }
        advance(Duration::from_secs(1)).await;
        let expected = format!(
            "`block` timed out after 2000 ms waiting for a thread: {owner} may run {size} blocking calls at once, and \
             {size} of those that run were given up and have not ended; its limit is 2000 ms"
        );
        let late = late.await.expect("a response");
        assert_eq!(message(&late), expected);
        gate.open(size);
    }
}

// R-B5, R-E3
#[tokio::test]
async fn panic_on_the_blocking_pool_is_answered() {
    let (runtime, session, _) = threads(Policy::text()).await;
    let response = call(&session, "block_and_break", json!({})).await;
    assert_eq!(
        (kind(&response), runtime.detached()),
        (Some(ErrorKind::Internal), 0)
    );
    assert!(call(&session, "quick", json!({})).await.is_ok());
}
