//! T7: hangs at the deadline, in real time. They show that the answer comes and what it leaves behind. The tests of
//! `tool-core/tests/runtime/deadlines.rs` hold how soon it comes, on a paused clock.

use crate::support::{call, kind, on_threads, open_policy, runtime};
use serde_json::json;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};
use tool_core::{ErrorKind, Mode, Runtime, ToolContext, toolset};

#[derive(Default)]
struct Hangs {
    dropped: Arc<AtomicUsize>,
    released: (Mutex<bool>, Condvar),
}

struct Held(Arc<AtomicUsize>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Hangs {
    fn release(&self) {
        *self.released.0.lock().expect("sound") = true;
        self.released.1.notify_all();
    }
}

#[toolset(discover = false)]
impl Hangs {
    /// Wait for ever.
    #[tool(timeout = "60ms", category = "action")]
    async fn hang(&self, n: u32) -> u32 {
        let _held = Held(Arc::clone(&self.dropped));
        std::future::pending::<()>().await;
        n
    }

    /// Block a thread until the gate opens.
    #[tool(timeout = "60ms", category = "action", blocking)]
    fn block(&self, n: u32) -> u32 {
        let open = self.released.0.lock().expect("sound");
        drop(
            self.released
                .1
                .wait_while(open, |open| !*open)
                .expect("sound"),
        );
        n
    }

    /// Answer.
    #[tool]
    async fn quick(&self, n: u32) -> u32 {
        n
    }
}

fn hangs(threads: usize) -> (Arc<Hangs>, Runtime) {
    let hangs = Arc::<Hangs>::default();
    let tools = ToolContext::builder()
        .with(Arc::clone(&hangs))
        .build()
        .expect("sound");
    (
        hangs,
        runtime(tools, open_policy().blocking_threads(threads)).expect("sound"),
    )
}

const LIMIT: Duration = Duration::from_millis(60);

// R-B5, T7
#[test]
fn async_hang_is_dropped_at_its_deadline() {
    on_threads(async {
        let (hangs, runtime) = hangs(1);
        let session = runtime.session("s", Mode::Text).await.expect("opens");
        for n in 0..3 {
            let began = Instant::now();
            let response = session.call(call(n, "hang", json!({"n": n}))).await;
            assert!(began.elapsed() >= LIMIT, "{:?}", began.elapsed());
            let error = response.error().expect("given up");
            assert_eq!(
                (error.kind, error.partial_side_effects),
                (ErrorKind::Timeout, true)
            );
            assert_eq!(hangs.dropped.load(Ordering::SeqCst), n + 1);
        }
    });
}

// R-B5, T7
#[test]
fn blocking_hang_delays_no_other_call_and_is_counted() {
    on_threads(async {
        let (hangs, runtime) = hangs(2);
        let session = runtime.session("s", Mode::Text).await.expect("opens");
        let stuck = session
            .call_all([1, 2].map(|n| call(n, "block", json!({"n": n}))))
            .await;
        assert!(
            stuck
                .iter()
                .all(|response| kind(response) == ErrorKind::Timeout)
        );
        assert_eq!(runtime.detached(), 2);

        let quick = session
            .call_all((0..100).map(|n| call(n, "quick", json!({"n": n}))))
            .await;
        assert!(quick.iter().all(tool_core::ToolResponse::is_ok));

        let none_free = session.call(call(3, "block", json!({"n": 3}))).await;
        let error = none_free.error().expect("no thread is free");
        assert_eq!(
            (error.kind, error.partial_side_effects),
            (ErrorKind::Timeout, false)
        );
        assert_eq!(runtime.detached(), 2);

        hangs.release();
        let patience = Instant::now();
        while runtime.detached() > 0 && patience.elapsed() < Duration::from_secs(10) {
            tokio::task::yield_now().await;
        }
        assert_eq!(runtime.detached(), 0);
        assert_eq!(
            session
                .call(call(4, "block", json!({"n": 4})))
                .await
                .data_json(),
            Some("4")
        );
    });
}

// R-B2: a call that got no thread did not run and is not charged
#[test]
fn call_without_a_free_thread_spends_no_budget() {
    on_threads(async {
        let hangs = Arc::<Hangs>::default();
        let tools = ToolContext::builder()
            .with(Arc::clone(&hangs))
            .build()
            .expect("sound");
        let policy = open_policy().blocking_threads(1).max_calls(Some(2));
        let runtime = runtime(tools, policy).expect("sound");
        let session = runtime.session("s", Mode::Text).await.expect("opens");
        assert_eq!(
            kind(&session.call(call(1, "block", json!({"n": 1}))).await),
            ErrorKind::Timeout
        );
        assert_eq!(
            kind(&session.call(call(2, "block", json!({"n": 2}))).await),
            ErrorKind::Timeout
        );
        let left = session.call(call(3, "quick", json!({"n": 3}))).await;
        hangs.release();
        assert!(left.is_ok(), "{left}");
    });
}
