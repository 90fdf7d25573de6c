//! The end of a session with running calls, and delivery through several handles.

use crate::support::{asked, call, kind, open, runtime, tools};
use crate::support_b::{answer, begin, ms};
use serde_json::json;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak, mpsc};
use std::time::Duration;
use tokio::time::timeout;
use tool_core::session::StateChange;
use tool_core::{ErrorKind, Mode, Policy, RunContext, Runtime, Session, tool};

/// Stay as it is.
#[tool(name = "stay")]
fn stay() {}

/// Work.
#[tool(name = "work")]
async fn work(n: u32) -> u32 {
    ms(100).await;
    n
}

struct Doors {
    inside: Mutex<mpsc::Sender<()>>,
    go_on: Mutex<mpsc::Receiver<()>>,
}

/// Disallow interruptions, and block the thread before it waits.
#[tool(name = "hold")]
async fn hold(ctx: &RunContext) {
    ctx.disallow_interruptions();
    let doors = ctx.user_data::<Doors>().expect("doors");
    doors
        .inside
        .lock()
        .expect("inside")
        .send(())
        .expect("somebody listens");
    doors
        .go_on
        .lock()
        .expect("go_on")
        .recv()
        .expect("somebody speaks");
    std::future::pending::<()>().await;
}

// R-I3
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn end_reaches_an_uninterruptible_call() {
    let (inside, heard) = mpsc::channel();
    let (speak, go_on) = mpsc::channel();
    let runtime = runtime(tools![hold, stay], Policy::text());
    let doors = Doors {
        inside: Mutex::new(inside),
        go_on: Mutex::new(go_on),
    };
    let session = runtime
        .session("s", Mode::Text)
        .user_data(doors)
        .await
        .expect("a session");
    let caller = session.clone();
    let held = tokio::spawn(async move { caller.call(asked("hold", json!({}))).await });
    tokio::task::spawn_blocking(move || heard.recv())
        .await
        .expect("a thread")
        .expect("the tool runs");
    let ending = session.clone();
    let ending = tokio::spawn(async move { ending.end().await });
    while call(&session, "stay", json!({})).await.is_ok() {
        tokio::task::yield_now().await;
    }
    speak.send(()).expect("the tool listens");
    timeout(Duration::from_secs(4), ending)
        .await
        .expect("the session ends")
        .expect("no panic");
    assert_eq!(
        kind(&held.await.expect("an answer")),
        Some(ErrorKind::Cancelled)
    );
}

/// Say something again and again.
#[tool(name = "talk")]
async fn talk(ctx: &RunContext) {
    loop {
        ctx.update("wait a moment");
        tokio::task::yield_now().await;
    }
}

// R-I3, L24
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_is_heard_after_the_end() {
    let runtime = runtime(tools![talk], Policy::text());
    let late = Arc::<AtomicUsize>::default();
    for n in 0..300 {
        let ended = Arc::new(AtomicBool::new(false));
        let watched = Arc::downgrade(&ended);
        let (seen, over, heard) = (
            Arc::clone(&late),
            Arc::clone(&ended),
            Arc::new(AtomicUsize::new(0)),
        );
        let listener = Arc::clone(&heard);
        let session = runtime
            .session(format!("s-{n}"), Mode::Text)
            .on_update(move |_| {
                listener.fetch_add(1, Ordering::SeqCst);
                seen.fetch_add(usize::from(over.load(Ordering::SeqCst)), Ordering::SeqCst);
            });
        let session = session.await.expect("a session");
        let talking = tokio::spawn({
            let session = session.clone();
            async move { session.call(asked("talk", json!({}))).await }
        });
        while heard.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
        session.end().await;
        ended.store(true, Ordering::SeqCst);
        assert_eq!(
            kind(&talking.await.expect("ends")),
            Some(ErrorKind::Cancelled)
        );
        drop((session, ended));
        gone(&watched).await;
    }
    assert_eq!(late.load(Ordering::SeqCst), 0);
}

/// Waits until the last clone is dropped.
async fn gone(watched: &Weak<AtomicBool>) {
    while watched.strong_count() > 0 {
        tokio::task::yield_now().await;
    }
}

/// Opens two handles of one session. The second brings a transport.
async fn two_handles() -> (Runtime, Session, Session) {
    let runtime = runtime(tools![work, talk], Policy::text());
    let first = open(&runtime, "s", Mode::Text).await;
    let second = runtime
        .session("s", Mode::Text)
        .on_update(|_| ())
        .await
        .expect("the same session");
    (runtime, first, second)
}

#[tokio::test(start_paused = true)]
async fn later_handle_with_transport_can_cancel_a_call() {
    let runtime = runtime(tools![work], Policy::text());
    let first = open(&runtime, "s", Mode::Text).await;
    let running = begin(&first, "c", "work", r#"{"n":1}"#).await;
    let second = runtime
        .session("s", Mode::Text)
        .on_update(|_| ())
        .await
        .expect("the same session");
    assert!(second.cancel("c"));
    assert_eq!(kind(&answer(running).await), Some(ErrorKind::Cancelled));
}

// L22
#[tokio::test(start_paused = true)]
async fn interruption_reaches_calls_of_all_handles() {
    let (_runtime, first, second) = two_handles().await;
    let running = begin(&first, "c", "work", r#"{"n":1}"#).await;
    assert_eq!(second.interrupt(), 1);
    assert_eq!(kind(&answer(running).await), Some(ErrorKind::Cancelled));
}

// R-I1
#[tokio::test]
async fn pending_message_is_delivered_to_one_handle() {
    let (runtime, first, _second) = two_handles_in_voice().await;
    first
        .change(&[StateChange::PendingMessage(Some("hello".into()))])
        .await
        .expect("a change");
    assert_eq!(
        first.next_turn().await.pending_message.as_deref(),
        Some("hello")
    );
    let third = runtime
        .session("v", Mode::Voice)
        .on_update(|_| ())
        .await
        .expect("the same session");
    assert_eq!(third.next_turn().await.pending_message, None);
    third
        .change(&[StateChange::PendingMessage(Some("hello".into()))])
        .await
        .expect("a change");
    assert_eq!(
        first.next_turn().await.pending_message.as_deref(),
        Some("hello"),
        "it was set again"
    );
}

async fn two_handles_in_voice() -> (Runtime, Session, Session) {
    let runtime = runtime(tools![stay], Policy::voice());
    let first = open(&runtime, "v", Mode::Voice).await;
    let second = open(&runtime, "v", Mode::Voice).await;
    (runtime, first, second)
}
