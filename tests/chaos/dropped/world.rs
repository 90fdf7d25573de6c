//! The session whose calls are dropped, and the checks after that.

use crate::later::{LaterJournal, LaterStore};
use crate::support::{call, pause, settle, tools};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use tool_core::session::{Hook, HookFuture, HookedCall, Next};
use tool_core::{
    CancellationToken, Intent, Mode, Policy, RunContext, Runtime, Session, ToolError, ToolOutput,
    ToolResponse, toolset,
};

/// Tools that wait in many ways, and count how often they ran.
#[derive(Clone, Default)]
pub struct Waiting {
    ran: Arc<AtomicUsize>,
    /// The number of calls that have begun and not ended.
    open: Arc<Mutex<Vec<CancellationToken>>>,
}

impl Waiting {
    fn begin(&self) {
        self.ran.fetch_add(1, Ordering::SeqCst);
    }
}

#[toolset(discover = false)]
impl Waiting {
    /// Wait three times.
    #[tool(cancellable)]
    async fn wait(&self, ctx: &RunContext) -> u32 {
        self.begin();
        self.open
            .lock()
            .expect("sound")
            .push(ctx.cancellation().clone());
        for _ in 0..3 {
            pause().await;
        }
        self.open.lock().expect("sound").pop();
        3
    }

    /// Find nothing, after a while.
    #[tool(category = "retrieval")]
    async fn search(&self) -> Vec<u32> {
        self.begin();
        pause().await;
        Vec::new()
    }

    /// Ask for something, after a while.
    #[tool]
    async fn ask(&self) -> ToolOutput {
        self.begin();
        pause().await;
        ToolOutput::new(1).intent(Intent::SuppressAudio)
    }

    /// Call two others.
    #[tool]
    async fn nest(&self, ctx: &RunContext) -> u32 {
        self.begin();
        _ = ctx.call("search", "{}").await;
        pause().await;
        _ = ctx.call("alone", "{}").await;
        2
    }

    /// Run alone.
    #[tool(sequential, on_duplicate = "reject")]
    async fn alone(&self) -> u32 {
        self.begin();
        pause().await;
        1
    }

    /// Wait for a person.
    #[tool(confirm)]
    async fn pay(&self, #[arg(default)] amount: u32) -> u32 {
        self.begin();
        pause().await;
        amount
    }

    /// Use another thread.
    #[tool(blocking)]
    fn block(&self) -> u32 {
        self.begin();
        1
    }

    /// Nothing to wait for.
    #[tool]
    fn probe(&self, n: u32) -> u32 {
        n
    }
}

struct Slow;

impl Hook for Slow {
    fn before<'a>(&'a self, _: &'a HookedCall<'a>) -> HookFuture<'a, Result<(), ToolError>> {
        Box::pin(async {
            pause().await;
            Ok(())
        })
    }

    fn after<'a>(&'a self, _: &'a HookedCall<'a>, _: &'a mut ToolResponse) -> HookFuture<'a, ()> {
        Box::pin(pause())
    }

    fn around<'a>(&'a self, _: &'a HookedCall<'a>, next: Next<'a>) -> HookFuture<'a, ToolResponse> {
        Box::pin(async {
            pause().await;
            let response = next.run().await;
            pause().await;
            response
        })
    }
}

const BUDGET: u32 = 8;

pub struct World {
    tools: Waiting,
    runtime: Runtime,
    pub session: Session,
}

/// Opens the session. `governed` adds hooks and a journal.
pub async fn world(store: LaterStore, governed: bool) -> World {
    let waiting = Waiting::default();
    let policy = Policy::text()
        .max_calls(Some(BUDGET))
        .max_empty_results(None)
        .repeated_calls(None);
    let builder = Runtime::builder(tools(waiting.clone()))
        .policy(policy)
        .store(store);
    let builder = if governed {
        builder.hook(Slow).journal(LaterJournal)
    } else {
        builder
    };
    let runtime = builder.build().expect("sound");
    let session = runtime.session("s", Mode::Text).await.expect("opens");
    World {
        tools: waiting,
        runtime,
        session,
    }
}

/// Polls the future a number of times, and drops it if it has not ended.
pub async fn polled<F: Future>(times: usize, future: F) -> Option<F::Output> {
    let mut future = Box::pin(future);
    for _ in 0..times {
        let polled = std::future::poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx))).await;
        if let Poll::Ready(done) = polled {
            return Some(done);
        }
        tokio::task::yield_now().await;
    }
    None
}

impl World {
    pub fn ran(&self) -> u32 {
        u32::try_from(self.tools.ran.load(Ordering::SeqCst)).expect("few")
    }

    /// Returns the number of calls that the turn was charged for, by spending the rest.
    async fn used(&self) -> u32 {
        let mut left = 0;
        while self
            .session
            .call(call(format!("probe {left}"), "probe", json!({"n": left})))
            .await
            .is_ok()
        {
            left += 1;
        }
        BUDGET - left
    }

    async fn running(&self) -> Value {
        let listed = self
            .session
            .call(call("list", "list_running_calls", json!({})))
            .await;
        listed.data::<Value>().expect("a list")["calls"].clone()
    }

    /// Checks the session after a call was dropped.
    pub async fn is_clean(&self, what: &str) {
        settle().await;
        // Blocking work runs to its end on its thread.
        while self.runtime.detached() > 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(self.running().await, json!([]), "{what}: nothing runs");
        let open = self.tools.open.lock().expect("sound").clone();
        assert!(
            open.iter().all(CancellationToken::is_cancelled),
            "{what}: tokens of dropped calls are cancelled"
        );
        let ran = self.ran();
        assert_eq!(self.used().await, ran, "{what}: charged for what ran");
        self.session.next_turn().await;
        let next = polled(1000, self.session.call(call("next", "alone", json!({}))))
            .await
            .expect("no deadlock");
        assert!(next.is_ok(), "{what}: the next call works: {next}");
    }
}
