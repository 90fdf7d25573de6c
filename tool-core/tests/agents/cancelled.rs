//! Cancelled loads leave nothing half done.

use crate::support::{Probe, builder, give, load, settle};
use crate::support_store::Line;
use std::task::Poll;
use std::time::Duration;

/// Polls a load so often, and drops it. Whether it was done before.
async fn dropped_after(polls: usize, mail: &Probe) -> bool {
    let agents = builder(Line::default(), [mail]).build().expect("sound");
    give(&agents, "alice", "mail").await;
    let alice = agents.executor("alice");
    let mut loading = Box::pin(alice.load());
    let mut done = false;
    for _ in 0..polls {
        done = std::future::poll_fn(|cx| Poll::Ready(loading.as_mut().poll(cx)))
            .await
            .is_ready();
        if done {
            break;
        }
        tokio::task::yield_now().await;
    }
    drop(loading);
    settle().await;
    let (configured, opened, closed) = mail.counts();
    assert_eq!(
        (opened, closed),
        (configured, configured - u32::from(configured > 0)),
        "after {polls} polls"
    );
    // A finished setup serves the next load, or is closed.
    load(&agents, "alice").await;
    agents.close().await;
    let (configured, opened, closed) = mail.counts();
    assert!(
        configured == opened && opened == closed,
        "{:?} after {polls} polls",
        mail.counts()
    );
    done
}

#[tokio::test]
async fn a_load_that_is_dropped_at_any_await_leaves_no_toolset_open() {
    let mut polls = 0;
    loop {
        let mail = Probe::new("mail", ["send"]);
        if dropped_after(polls, &mail).await {
            break;
        }
        polls += 1;
        assert!(polls < 200, "it never ends");
    }
    assert!(polls >= 3, "it waited {polls} times");
}

// The first caller goes away. The others still get the result of its work.
#[tokio::test(start_paused = true)]
async fn those_who_wait_are_served_when_the_first_one_goes() {
    let mail = Probe::new("mail", ["send"]).slow(Duration::from_secs(1));
    let agents = builder(Line::default(), [&mail]).build().expect("sound");
    give(&agents, "alice", "mail").await;
    let first = tokio::time::timeout(Duration::from_millis(500), load(&agents, "alice"));
    let (first, second) = tokio::join!(first, load(&agents, "alice"));
    assert!(first.is_err() && second.tools().has_tool("send"));
    assert_eq!(mail.counts(), (1, 1, 0));
}
