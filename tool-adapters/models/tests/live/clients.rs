//! The clients: one conversation each, with one tool.

use crate::board::{self, Board, Load};
use crate::providers;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::task::JoinSet;
use tool_adapters::Provider;
use tool_adapters::agent::RetryPolicy;
use tool_adapters::providers::Event;
use tool_adapters::transport::websocket::{LiveEvent, LiveLoop, LiveModel};
use tool_core::{Mode, Policy, RunContext, Runtime, ToolContext, tool};

struct Desk {
    board: Arc<Board>,
    number: usize,
}

/// Work for a moment.
#[tool]
async fn work(ctx: &RunContext, call: u32, milliseconds: u64) -> String {
    let Some(desk) = ctx.user_data::<Desk>() else {
        return String::new();
    };
    let call = call as usize;
    desk.board.call_starts(desk.number, call);
    tokio::time::sleep(Duration::from_millis(milliseconds)).await;
    board::result(desk.number, call)
}

/// Plays a load in this thread, with the providers in another one.
pub(crate) fn play(load: Load) -> Arc<Board> {
    let board = Arc::new(Board::new(load));
    let (url, serving) = providers::start(Arc::clone(&board));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let tools = ToolContext::builder().with(work).build().expect("builds");
        let policy = Policy::text().max_tool_steps(100);
        let tools = Runtime::builder(tools)
            .policy(policy)
            .build()
            .expect("builds");
        let mut talks = JoinSet::new();
        for number in 0..load.conversations {
            talks.spawn(talk(
                tools.clone(),
                url.clone(),
                Desk {
                    board: Arc::clone(&board),
                    number,
                },
            ));
        }
        while let Some(talk) = talks.join_next().await {
            talk.expect("no panic");
            board
                .peak_bytes
                .fetch_max(crate::counting::bytes(), Ordering::Relaxed);
        }
        assert_eq!(tools.sessions().await, Ok(0));
    });
    serving.join().expect("the providers refuse nothing");
    board
}

pub(crate) fn provider(number: usize) -> Provider {
    if number.is_multiple_of(2) {
        Provider::GeminiLive
    } else {
        Provider::OpenAiRealtime
    }
}

async fn talk(tools: Runtime, url: String, desk: Desk) {
    let number = desk.number;
    let session = tools
        .session(format!("s-{number}"), Mode::Voice)
        .user_data(desk)
        .await
        .expect("opens");
    let retry = RetryPolicy {
        initial: Duration::from_millis(1),
        max: Duration::from_millis(20),
        attempts: 100,
        ..RetryPolicy::default()
    };
    let model = LiveModel::new(provider(number), number.to_string())
        .base_url(url)
        .api_key("key")
        .retry(retry);
    let mut live = LiveLoop::start(
        session.clone(),
        model.connect_timeout(Duration::from_secs(60)),
    );
    while let Some(event) = live.next().await {
        match event {
            LiveEvent::Model(Event::Text(text)) if text == "bye" => live.input().close(),
            LiveEvent::Failed(error) => panic!("the conversation {number} failed: {error}"),
            _ => {}
        }
    }
    drop(live);
    session.end().await;
}
