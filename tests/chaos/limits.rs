//! R-B2 and R-I3 under load: racing calls on a limit, and sessions at the cap.

use crate::support::{block_on, call, kind, on_threads, open_policy, runtime, session};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::task::JoinSet;
use tool_core::session::OpenError;
use tool_core::{Category, ErrorKind, Mode, Policy, ToolContext, toolset};

#[derive(Clone, Default)]
struct Counted(Arc<AtomicUsize>);

#[toolset(discover = false)]
impl Counted {
    /// Count, at once.
    #[tool(category = "action")]
    fn act(&self, n: u32) -> u32 {
        self.0.fetch_add(1, Ordering::SeqCst);
        n
    }

    /// Count, after a while.
    #[tool(category = "retrieval")]
    async fn search(&self, n: u32) -> u32 {
        self.0.fetch_add(1, Ordering::SeqCst);
        tokio::task::yield_now().await;
        n
    }

    /// Count few.
    #[tool(max_calls = 100)]
    fn few(&self, n: u32) -> u32 {
        self.0.fetch_add(1, Ordering::SeqCst);
        n
    }
}

fn race(tool: &'static str, policy: Policy) {
    let counted = Counted::default();
    on_threads(async {
        let session = session(crate::support::tools(counted.clone()), policy).await;
        let mut racers = JoinSet::new();
        for task in 0..16_u32 {
            let session = session.clone();
            racers.spawn(async move {
                let calls = (0..1000)
                    .map(|n| call(format!("{task} {n}"), tool, json!({"n": task * 1000 + n})));
                session.call_all(calls).await
            });
        }
        let answers = racers
            .join_all()
            .await
            .into_iter()
            .flatten()
            .collect::<Vec<_>>();
        let refused = answers
            .iter()
            .filter(|answer| !answer.is_ok())
            .map(kind)
            .collect::<Vec<_>>();
        assert_eq!((answers.len(), refused.len()), (16_000, 15_900));
        assert!(
            refused
                .iter()
                .all(|kind| *kind == ErrorKind::BudgetExceeded)
        );
        assert_eq!(counted.0.load(Ordering::SeqCst), 100);
    });
}

// R-B2
#[test]
fn racing_calls_run_exactly_up_to_the_turn_limit() {
    race("act", open_policy().max_calls(Some(100)));
}

// R-B2
#[test]
fn racing_retrievals_run_exactly_up_to_the_budget() {
    race(
        "search",
        open_policy().category_budget(Category::Retrieval, Some(100)),
    );
}

// R-B2
#[test]
fn racing_calls_run_exactly_up_to_max_calls() {
    race("few", open_policy());
}

// R-I3
#[test]
fn at_the_cap_new_sessions_are_refused_and_live_ones_stay() {
    block_on(async {
        let tools = ToolContext::builder()
            .with(Counted::default())
            .build()
            .expect("sound");
        let runtime = runtime(tools, open_policy().max_sessions(100)).expect("sound");
        let mut live = Vec::new();
        for n in 0..100 {
            live.push(
                runtime
                    .session(format!("live {n}"), Mode::Text)
                    .await
                    .expect("opens"),
            );
        }
        for n in 0..1000 {
            let refused = runtime
                .session(format!("late {n}"), Mode::Text)
                .await
                .expect_err("full");
            assert_eq!(refused, OpenError::Full { limit: 100 });
        }
        for (n, session) in live.iter().enumerate() {
            assert!(session.call(call(n, "act", json!({"n": n}))).await.is_ok());
        }
        assert!(
            runtime.session("live 7", Mode::Text).await.is_ok(),
            "who is in may come again"
        );
        live[0].end().await;
        assert!(runtime.session("late", Mode::Text).await.is_ok());
        assert!(runtime.session("later", Mode::Text).await.is_err());
    });
}

// R-I3: racing openings do not exceed the cap
#[test]
fn racing_sessions_open_exactly_up_to_the_cap() {
    on_threads(async {
        let runtime = runtime(
            crate::support::tools(Counted::default()),
            open_policy().max_sessions(100),
        )
        .expect("sound");
        let mut racers = JoinSet::new();
        for n in 0..2000 {
            let runtime = runtime.clone();
            racers.spawn(async move { runtime.session(format!("{n}"), Mode::Text).await.ok() });
        }
        let open = racers
            .join_all()
            .await
            .into_iter()
            .flatten()
            .collect::<Vec<_>>();
        assert_eq!(open.len(), 100);
    });
}

// R-I3: every later call, whatever it asks for
#[test]
fn ended_session_refuses_every_call() {
    block_on(async {
        let session = session(crate::support::tools(Counted::default()), open_policy()).await;
        session.end().await;
        for n in 0..10 {
            for tool in ["act", "nothing"] {
                let late = session.call(call(n, tool, json!({"n": n}))).await;
                assert_eq!(kind(&late), ErrorKind::SessionInactive, "{late}");
            }
            assert_eq!(
                kind(&session.approve("token").await),
                ErrorKind::SessionInactive
            );
        }
    });
}
