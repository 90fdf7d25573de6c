//! T12: memory stays flat over many sessions and many invented names. Each test runs in its own process, with 100,000
//! rounds. `just soak` runs a million, which BENCHMARKS.md reports.

use crate::support::{block_on, call, count, kind, open_policy, run_alone, runtime, tools};
use futures_util::stream::{self, Stream};
use serde_json::json;
use tool_core::{ErrorKind, Mode, Runtime, ToolCall, tool};

/// Answer.
#[tool]
async fn answer(n: u32) -> u32 {
    n
}

const MEASURE: &str = "CHAOS_MEASURE";

/// Returns the memory of this process, in bytes.
fn resident() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").expect("Linux");
    let pages = pages
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<usize>().ok());
    pages.expect("a number") * 4096
}

async fn work(what: &str, runtime: &Runtime, n: u32) {
    match what {
        "sessions" => {
            let session = runtime
                .session(format!("session {n}"), Mode::Text)
                .await
                .expect("opens");
            assert!(
                session
                    .call(call(n, "answer", json!({"n": n})))
                    .await
                    .is_ok()
            );
            session.end().await;
        }
        "names" => {
            let session = runtime.session("s", Mode::Text).await.expect("opens");
            let response = session
                .call(ToolCall::new(n.to_string(), format!("invented_{n}"), "{}"))
                .await;
            assert_eq!(kind(&response), ErrorKind::NotFound);
        }
        _ => {
            let session = runtime.session("s", Mode::Text).await.expect("opens");
            assert!(
                session
                    .call(call(n, "answer", json!({"n": n})))
                    .await
                    .is_ok()
            );
        }
    }
}

#[test]
#[ignore = "the other tests run it in their own processes"]
fn measured() {
    let what = std::env::var(MEASURE).expect("the other tests set it");
    let count = count();
    block_on(async {
        let runtime = runtime(tools(answer), open_policy()).expect("sound");
        let _held = runtime.session("s", Mode::Text).await.expect("opens");
        let mut early = 0;
        for n in 0..count {
            if n == count / 5 {
                early = resident();
            }
            work(&what, &runtime, n).await;
        }
        let late = resident();
        println!("{what} {count}: {early} bytes after a fifth, {late} at the end");
        assert!(
            late <= early / 100 * 105,
            "{what}: {early} bytes after a fifth, {late} at the end"
        );
    });
}

fn stays_flat(what: &str) {
    run_alone("memory::measured", &[(MEASURE, what)]);
}

/// Return a megabyte.
#[tool]
fn megabyte(n: u32) -> impl Stream<Item = String> + Send {
    stream::iter([format!("{n} {}", "x".repeat(1_000_000))])
}

#[test]
#[ignore = "another test runs it in a process of its own"]
fn measured_streams() {
    block_on(async {
        let runtime = runtime(tools(megabyte), open_policy()).expect("sound");
        let session = runtime.session("s", Mode::Text).await.expect("opens");
        let early = resident();
        for n in 0..400 {
            assert!(
                session
                    .call(call(n, "megabyte", json!({"n": n})))
                    .await
                    .is_ok()
            );
        }
        let late = resident();
        assert!(
            late <= early + 16_000_000,
            "{early} bytes before 400 calls of a megabyte, {late} after"
        );
        assert!(session.updates().len() < 3);
    });
}

// L24, T12: the items of streams piled up in their session, 385 MB of them.
#[test]
fn items_of_streams_do_not_pile_up_in_their_session() {
    run_alone("memory::measured_streams", &[]);
}

// R-I3, T12
#[test]
fn memory_stays_flat_over_many_short_sessions() {
    stays_flat("sessions");
}

// T12
#[test]
fn memory_stays_flat_over_many_invented_tool_names() {
    stays_flat("names");
}

// R-L4: the memory of a turn is bounded
#[test]
fn memory_stays_flat_over_many_calls_of_one_turn() {
    stays_flat("calls");
}
