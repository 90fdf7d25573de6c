//! T11: a run context works in every task. A clone of it is the call, wherever it goes, and `ctx.spawn` carries the span
//! too.

use crate::support::{call, on_threads, open_policy, session, tools};
use serde_json::json;
use std::sync::{Arc, Mutex};
use tokio::task::JoinSet;
use tool_core::{Intent, RunContext, tool};

/// Use the context from everywhere.
#[tool]
async fn spread(ctx: RunContext) -> Vec<bool> {
    let inside = |ctx: RunContext| async move {
        ctx.emit(Intent::SuppressAudio);
        let known = ctx.session() == Some("s")
            && ctx.call_id() == Some("c")
            && ctx.tool() == Some("spread");
        let answer = ctx.call("leaf", json!({})).await;
        known && answer.is_ok()
    };
    let mut seen = Vec::new();
    seen.push(ctx.spawn(inside(ctx.clone())).await.expect("runs"));
    seen.push(tokio::spawn(inside(ctx.clone())).await.expect("runs"));
    let (handle, given) = (tokio::runtime::Handle::current(), inside(ctx.clone()));
    seen.push(
        tokio::task::spawn_blocking(move || handle.block_on(given))
            .await
            .expect("runs"),
    );
    let mut set = JoinSet::new();
    set.spawn(inside(ctx.clone()));
    seen.extend(set.join_next().await.expect("one").ok());
    seen.push(tokio::select! {
        biased;
        seen = inside(ctx.clone()) => seen,
        () = std::future::pending() => false,
    });
    seen
}

/// Answer.
#[tool]
async fn leaf() -> u8 {
    1
}

// R-B4: calls from there spend the budget of the session
#[test]
fn context_works_from_every_kind_of_task() {
    on_threads(async {
        let tools = tool_core::ToolContext::builder()
            .with(spread)
            .with(leaf)
            .build()
            .expect("sound");
        let session = session(tools, open_policy().max_calls(Some(6)).repeated_calls(None)).await;
        let response = session.call(call("c", "spread", json!({}))).await;
        assert_eq!(
            response.data_json(),
            Some("[true,true,true,true,true]"),
            "{response}"
        );
        assert_eq!(response.intents().len(), 5);
        let spent = session.call(call("d", "leaf", json!({}))).await;
        assert_eq!(
            crate::support::kind(&spent),
            tool_core::ErrorKind::BudgetExceeded
        );
    });
}

/// Outlive the call.
#[tool(timeout = "30ms")]
async fn outlive(ctx: RunContext, #[context] seen: tool_core::UserData<Mutex<Option<bool>>>) -> u8 {
    let (token, seen) = (ctx.cancellation().clone(), Arc::clone(&seen.0));
    ctx.spawn(async move {
        token.cancelled().await;
        *seen.lock().expect("sound") = Some(true);
    });
    std::future::pending().await
}

// R-B5: a spawned task learns that its call has ended
#[test]
fn spawned_task_is_cancelled_when_the_call_ends() {
    on_threads(async {
        let seen = Arc::new(Mutex::new(None));
        let runtime = crate::support::runtime(tools(outlive), open_policy()).expect("sound");
        let open = runtime
            .session("s", tool_core::Mode::Text)
            .user_data_shared(Arc::clone(&seen));
        let session = open.await.expect("opens");
        let response = session.call(call("c", "outlive", json!({}))).await;
        assert_eq!(
            crate::support::kind(&response),
            tool_core::ErrorKind::Timeout
        );
        let patience = std::time::Instant::now();
        while seen.lock().expect("sound").is_none() && patience.elapsed().as_secs() < 10 {
            tokio::task::yield_now().await;
        }
        assert_eq!(*seen.lock().expect("sound"), Some(true));
    });
}
