//! T8: calls are polled k times and dropped, for every k until they end.

mod world;

use crate::later::{LaterJournal, LaterStore};
use crate::support::{block_on, call, settle, tools};
use serde_json::json;
use tool_core::{Mode, Runtime, ToolCall};
use world::{Waiting, World, polled, world};

/// Drops a call at every await, and returns the number of awaits.
fn dropped_everywhere(name: &'static str, governed: bool, store: fn() -> LaterStore) -> usize {
    let mut at = 0;
    let mut ended = false;
    while !ended {
        assert!(at < 1000, "{name} never ends");
        block_on(async {
            let world = world(store(), governed).await;
            ended = polled(at, world.session.call(ToolCall::new("c", name, "{}")))
                .await
                .is_some();
            world
                .is_clean(&format!("{name} dropped after {at} polls"))
                .await;
        });
        at += 1;
    }
    at - 1
}

const NAMES: [&str; 5] = ["wait", "search", "ask", "nest", "alone"];

// T8
#[test]
fn call_can_be_dropped_at_every_await() {
    let places = NAMES.map(|name| dropped_everywhere(name, false, || LaterStore::waiting(0, 0)));
    assert!(places.iter().all(|places| *places >= 1), "{places:?}");
}

// T8: over a store that answers later, with hooks and a journal
#[test]
fn call_can_be_dropped_in_store_hooks_and_journal() {
    let places = NAMES.map(|name| dropped_everywhere(name, true, || LaterStore::waiting(1, 0)));
    assert!(places.iter().all(|places| *places >= 8), "{places:?}");
}

// T8: the store has applied the operation and its answer is on its way
#[test]
fn call_can_be_dropped_before_the_store_answers() {
    for name in NAMES {
        dropped_everywhere(name, true, || LaterStore::waiting(1, 1));
    }
}

// T8
#[test]
fn blocking_call_can_be_dropped_at_every_await() {
    dropped_everywhere("block", true, || LaterStore::waiting(1, 0));
}

async fn asked(world: &World) -> String {
    let response = world
        .session
        .call(call("p", "pay", json!({"amount": 7})))
        .await;
    response.meta().confirmation().expect("asked").token.clone()
}

/// Drops an approval at every await, and returns the number of awaits and how many left the token valid.
fn approvals_dropped(store: fn() -> LaterStore) -> (usize, usize) {
    let (mut at, mut good, mut ended) = (0, 0, false);
    while !ended {
        block_on(async {
            let world = world(store(), true).await;
            let token = asked(&world).await;
            ended = polled(at, world.session.approve(&token)).await.is_some();
            settle().await;
            let before = world.ran();
            let again = world.session.approve(&token).await;
            assert!(world.ran() <= 1, "it ran twice, dropped after {at} polls");
            assert_eq!(again.is_ok(), world.ran() > before, "{again}");
            good += usize::from(again.is_ok());
            world
                .is_clean(&format!("an approval dropped after {at} polls"))
                .await;
        });
        at += 1;
    }
    (at - 1, good)
}

// R-C2, T8: a dropped approval is redeemed once or not at all
#[test]
fn approval_can_be_dropped_at_every_await() {
    let (places, good) = approvals_dropped(|| LaterStore::waiting(1, 0));
    assert!(
        places > good && good > 2,
        "{places} places, {good} times still good"
    );
}

// R-C1: a pending call is not charged, wherever it is dropped
#[test]
fn call_needing_approval_can_be_dropped_at_every_await() {
    for store in [|| LaterStore::waiting(1, 0), || LaterStore::waiting(1, 1)] {
        dropped_everywhere("pay", true, store);
    }
}

// T8: a step, the end of a turn, the end of a session
#[test]
fn step_can_be_dropped_at_every_await() {
    let (mut at, mut ended) = (0, false);
    while !ended {
        block_on(async {
            let world = world(LaterStore::waiting(1, 0), true).await;
            let step = NAMES.map(|name| ToolCall::new(name, name, "{}"));
            ended = polled(at, world.session.call_all(step)).await.is_some();
            world
                .is_clean(&format!("a step dropped after {at} polls"))
                .await;
        });
        at += 1;
    }
}

// R-I3
#[test]
fn dropped_end_can_be_repeated() {
    let (mut at, mut ended) = (0, false);
    while !ended {
        block_on(async {
            let world = world(LaterStore::waiting(1, 1), true).await;
            let running = tokio::spawn({
                let session = world.session.clone();
                async move { session.call(ToolCall::new("c", "wait", "{}")).await }
            });
            tokio::task::yield_now().await;
            ended = polled(at, world.session.end()).await.is_some();
            polled(1000, world.session.end())
                .await
                .expect("ends the second time");
            running.await.expect("answered");
            assert!(world.session.state().ended);
            let late = world.session.call(ToolCall::new("d", "wait", "{}")).await;
            assert_eq!(
                crate::support::kind(&late),
                tool_core::ErrorKind::SessionInactive
            );
        });
        at += 1;
    }
}

// R-I3
#[test]
fn dropped_opening_can_be_repeated() {
    let (mut at, mut ended) = (0, false);
    while !ended {
        block_on(async {
            let builder =
                Runtime::builder(tools(Waiting::default())).store(LaterStore::waiting(1, 1));
            let runtime = builder.journal(LaterJournal).build().expect("sound");
            ended = polled(at, runtime.session("s", Mode::Text).into_future())
                .await
                .is_some();
            let session = runtime.session("s", Mode::Text).await.expect("opens");
            assert_eq!(runtime.sessions().await, Ok(1));
            session.end().await;
            assert_eq!(runtime.sessions().await, Ok(0));
        });
        at += 1;
    }
}
