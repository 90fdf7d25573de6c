//! The metrics of all calls of a runtime. R-M1, R-M3

use super::support::{call, kind, open, runtime, tools};
use serde_json::{Value, json};
use std::time::Duration;
use tool_core::session::HookedCall;
use tool_core::{Category, ErrorKind, Mode, Policy, Runtime, Session, ToolCall, ToolError, tool};

/// Take a while, and say so many letters.
#[tool]
pub(crate) async fn speak(letters: usize, #[arg(default)] millis: u64) -> String {
    tokio::time::sleep(Duration::from_millis(millis)).await;
    "é".repeat(letters)
}

/// Fail as asked.
#[tool]
fn fail(conflict: bool) -> Result<u8, ToolError> {
    Err(if conflict {
        ToolError::conflict("taken")
    } else {
        ToolError::internal("broken")
    })
}

/// Be there.
#[tool]
fn idle() -> u8 {
    0
}

/// Nothing is refused.
pub(crate) fn free() -> Policy {
    Policy::text()
        .category_budget(Category::Retrieval, None)
        .repeated_calls(None)
        .max_empty_results(None)
}

/// Returns the value of the nearest rank.
fn rank(mut values: Vec<u64>, percent: usize) -> u64 {
    values.sort_unstable();
    values[(values.len() * percent).div_ceil(100) - 1]
}

fn document(runtime: &Runtime) -> Value {
    serde_json::to_value(runtime.metrics()).expect("serialises")
}

async fn say(session: &Session, letters: u64, millis: u64) {
    assert!(
        call(
            session,
            "speak",
            json!({"letters": letters, "millis": millis})
        )
        .await
        .is_ok()
    );
}

// R-M1
#[tokio::test(start_paused = true)]
async fn percentiles_are_exact_over_the_last_1000_responses() {
    let runtime = runtime(tools![speak], free());
    let mut sessions = Vec::new();
    for number in 0..7 {
        sessions.push(open(&runtime, &format!("s-{number}"), Mode::Text).await);
    }
    // One after the other, alternating between two sessions.
    let all = (0..1_437_u64)
        .map(|n| (n * 7_919 % 400, n * 104_729 % 97 + 1))
        .collect::<Vec<_>>();
    for (n, (letters, millis)) in all.iter().enumerate() {
        say(&sessions[n * n % 7], *letters, *millis).await;
        if ![1, 2, 19, 20, 999, 1_000, 1_001, 1_437].contains(&(n + 1)) {
            continue;
        }
        let last = &all[(n + 1).saturating_sub(1_000)..=n];
        // The size includes the quotes of the JSON text.
        let sizes = last
            .iter()
            .map(|(letters, _)| letters + 2)
            .collect::<Vec<_>>();
        let costs = sizes
            .iter()
            .map(|size| size.div_ceil(4))
            .collect::<Vec<_>>();
        let times = last.iter().map(|(_, millis)| *millis).collect::<Vec<_>>();
        let metrics = runtime.metrics();
        let measured = &metrics.tools["speak"];
        assert_eq!(measured.calls, n as u64 + 1);
        for (percent, size, time) in [
            (50, measured.sizes.p50, measured.latency.p50),
            (95, measured.sizes.p95, measured.latency.p95),
            (99, measured.sizes.p99, measured.latency.p99),
        ] {
            assert_eq!(
                u64::from(size),
                rank(sizes.clone(), percent),
                "p{percent} of {}",
                n + 1
            );
            assert_eq!(
                time,
                Duration::from_millis(rank(times.clone(), percent)),
                "p{percent} of {}",
                n + 1
            );
        }
        assert_eq!(u64::from(measured.tokens.p95), rank(costs.clone(), 95));
        let (sum, count) = (costs.iter().sum::<u64>(), costs.len());
        let mean = f64::from(u32::try_from(sum).expect("small"))
            / f64::from(u32::try_from(count).expect("small"));
        assert!(
            (measured.tokens.avg - mean).abs() < 1e-9,
            "{} {mean}",
            measured.tokens.avg
        );
    }
    let measured = &runtime.metrics().tools["speak"];
    assert_eq!(
        measured.characters,
        all.iter().map(|(letters, _)| letters + 2).sum::<u64>()
    );
    assert_eq!(
        measured.duration,
        Duration::from_millis(all.iter().map(|(_, millis)| millis).sum())
    );
}

// R-M1
#[tokio::test]
async fn errors_of_calls_that_ran_are_counted_by_type() {
    let runtime = runtime(tools![speak, fail, idle], free().repeated_calls(Some(3)));
    let session = open(&runtime, "s", Mode::Text).await;
    for conflict in [true, true, true, false] {
        assert!(
            !call(&session, "fail", json!({"conflict": conflict}))
                .await
                .is_ok()
        );
    }
    call(&session, "fail", json!({"conflict": 7})).await;
    let metrics = runtime.metrics();
    let fails = &metrics.tools["fail"];
    assert_eq!((fails.calls, fails.responses()), (5, 3));
    assert_eq!(fails.errors, [("CONFLICT", 2), ("INTERNAL", 1)].into());
    assert_eq!(
        fails.refusals,
        [("LOOP_DETECTED", 1), ("VALIDATION", 1)].into()
    );
    // A tool without calls is absent.
    assert_eq!(metrics.tools.keys().collect::<Vec<_>>(), ["fail"]);
}

// R-M1
#[tokio::test]
async fn size_of_an_error_is_that_of_its_text() {
    let runtime = runtime(tools![fail], free());
    let session = open(&runtime, "s", Mode::Text).await;
    let taken = 5;
    // An internal error occurred
    let masked = 26_u32;
    for conflict in [true, true, false] {
        call(&session, "fail", json!({"conflict": conflict})).await;
    }
    let fails = &runtime.metrics().tools["fail"];
    assert_eq!((fails.sizes.p50, fails.sizes.p99), (taken, masked));
    assert_eq!(
        (fails.tokens.p95, fails.characters),
        (masked.div_ceil(4), u64::from(2 * taken + masked))
    );
}

/// Pay once a person agrees.
#[tool(confirm)]
async fn pay(n: u64) -> String {
    tokio::time::sleep(Duration::from_millis(7)).await;
    "x".repeat(usize::try_from(n).expect("small"))
}

// R-M1
#[tokio::test(start_paused = true)]
async fn calls_that_ask_for_approval_are_no_responses() {
    let runtime = runtime(tools![pay], free());
    let session = open(&runtime, "s", Mode::Text).await;
    for n in 1..=12 {
        let asked = call(&session, "pay", json!({"n": n})).await;
        let token = &asked
            .meta()
            .confirmation()
            .expect("a person is asked")
            .token;
        match n {
            ..=10 => assert!(session.approve(token).await.is_ok()),
            _ => assert_eq!(kind(&session.deny(token).await), Some(ErrorKind::Denied)),
        }
    }
    let metrics = runtime.metrics();
    let pay = &metrics.tools["pay"];
    assert_eq!((pay.calls, pay.responses()), (24, 10));
    assert_eq!(
        (pay.sizes.p50, pay.sizes.p95, pay.characters),
        (7, 12, (3..=12).sum())
    );
    assert_eq!(
        (pay.latency.p50, pay.latency.p99),
        (Duration::from_millis(7), Duration::from_millis(7))
    );
    assert_eq!(
        pay.refusals,
        [("CONFIRMATION_REQUIRED", 12), ("DENIED", 2)].into()
    );
    let text = metrics.prometheus();
    for line in [
        "tool_calls_total{tool=\"pay\"} 24",
        "tool_response_size_characters_count{tool=\"pay\"} 10",
        "tool_call_duration_seconds_count{tool=\"pay\"} 10",
        "tool_refusals_total{tool=\"pay\",type=\"CONFIRMATION_REQUIRED\"} 12",
        "tool_refusals_total{tool=\"pay\",type=\"DENIED\"} 2",
    ] {
        assert!(text.lines().any(|known| known == line), "{line}\n{text}");
    }
    assert_eq!(
        document(&runtime)["refusals"],
        json!({"pay": {"CONFIRMATION_REQUIRED": 12, "DENIED": 2}})
    );
}

/// Fail once it has waited for a while.
#[tool(timeout = "50ms", category = "action")]
async fn hang() {
    std::future::pending::<()>().await;
}

/// Read on a thread of its own.
#[tool(blocking)]
fn read_file(n: u64) -> Result<u64, String> {
    if n == 0 {
        Err("no such file".to_owned())
    } else {
        Ok(n)
    }
}

// R-M1
#[tokio::test(start_paused = true)]
async fn calls_that_ran_in_part_are_responses() {
    let runtime = runtime(tools![hang, read_file], free().max_calls(Some(3)));
    let session = open(&runtime, "s", Mode::Text).await;
    call(&session, "hang", json!({})).await;
    call(&session, "read_file", json!({"n": 0})).await;
    call(&session, "read_file", json!({"n": "1"})).await;
    call(&session, "read_file", json!({"n": 2})).await;
    let tools = runtime.metrics().tools;
    assert_eq!(
        (&tools["hang"].errors, tools["hang"].responses()),
        (&[("TIMEOUT", 1)].into(), 1)
    );
    assert_eq!(
        (&tools["read_file"].errors, tools["read_file"].responses()),
        (&[("PERMANENT", 1)].into(), 2)
    );
    assert_eq!(tools["read_file"].refusals, [("BUDGET_EXCEEDED", 1)].into());
}

// R-M1
#[tokio::test]
async fn calls_that_a_hook_refuses_are_no_responses() {
    let busy = async |_: HookedCall<'_>| Err(ToolError::rate_limit("later"));
    let runtime = Runtime::builder(tools![idle])
        .before(busy)
        .build()
        .expect("a runtime");
    let session = open(&runtime, "s", Mode::Text).await;
    call(&session, "idle", json!({})).await;
    let idle = &runtime.metrics().tools["idle"];
    assert_eq!(
        (idle.responses(), &idle.refusals),
        (0, &[("RATE_LIMIT", 1)].into())
    );
}

// R-M3
#[tokio::test]
async fn unknown_names_share_one_series() {
    let runtime = runtime(tools![idle], free());
    let session = open(&runtime, "s", Mode::Text).await;
    for n in 0..1_000 {
        let response = call(&session, &format!("invented_{n}\n\u{1b}"), json!({})).await;
        assert_eq!(kind(&response), Some(ErrorKind::NotFound));
    }
    call(&session, "idle", json!({})).await;
    let metrics = runtime.metrics();
    assert_eq!(
        metrics.tools.keys().collect::<Vec<_>>(),
        ["idle", "unknown"]
    );
    assert_eq!(metrics.tools["unknown"].calls, 1_000);
    let text = metrics.prometheus();
    assert_eq!(text.matches("tool_calls_total{").count(), 2);
    assert!(
        text.contains(r#"tool_refusals_total{tool="unknown",type="NOT_FOUND"} 1000"#)
            && !text.contains("invented")
    );
}

/// Have an unlucky name.
#[tool]
fn unknown() -> u8 {
    0
}

// R-M3
#[tokio::test]
async fn tool_named_like_the_shared_series_keeps_its_own() {
    let runtime = runtime(tools![unknown], free());
    let session = open(&runtime, "s", Mode::Text).await;
    call(&session, "unknown", json!({})).await;
    call(&session, "other", json!({})).await;
    assert_eq!(
        runtime.metrics().tools.keys().collect::<Vec<_>>(),
        ["(unknown)", "unknown"]
    );
}

// R-M1
#[tokio::test]
async fn calls_in_an_ended_session_are_counted() {
    let runtime = runtime(tools![idle], free());
    let session = open(&runtime, "s", Mode::Text).await;
    session.end().await;
    call(&session, "idle", json!({})).await;
    call(&session, "invented", json!({})).await;
    let metrics = runtime.metrics();
    assert_eq!(metrics.tools["idle"].refusals["SESSION_INACTIVE"], 1);
    assert_eq!(metrics.tools["unknown"].calls, 1);
}

// R-M1
#[tokio::test]
async fn adding_tools_keeps_existing_figures() {
    let runtime = runtime(tools![idle], free());
    let session = open(&runtime, "s", Mode::Text).await;
    call(&session, "idle", json!({})).await;
    runtime.update_tools(tools![speak, idle]).expect("sound");
    call(&session, "idle", json!({})).await;
    call(&open(&runtime, "t", Mode::Text).await, "idle", json!({})).await;
    assert_eq!(runtime.metrics().tools["idle"].calls, 3);
    runtime.update_tools(tools![speak]).expect("sound");
    assert!(runtime.metrics().tools.is_empty());
}

// R-M3
#[tokio::test(start_paused = true)]
async fn metrics_document_has_its_documented_members() {
    let runtime = runtime(tools![speak, fail], free());
    let empty = document(&runtime);
    let nothing = json!({
        "responseSizes": {}, "responseTokens": {}, "latency": {},
        "context": {"sessionInitTokens": 0, "systemPromptTokens": 0, "toolDeclTokens": 0, "peakTokens": 0},
        "loopDetection": {"activeSessions": 0, "totalTurnsTracked": 0},
        "calls": {}, "slowCalls": {}, "errors": {}, "refusals": {}, "retries": {}, "circuits": [],
    });
    assert_eq!(empty, nothing);

    let session = open(&runtime, "s", Mode::Text).await;
    say(&session, 6, 12).await;
    call(&session, "fail", json!({"conflict": true})).await;
    let full = document(&runtime);
    assert_eq!(
        full["responseSizes"]["speak"],
        json!({"p50": 8, "p95": 8, "p99": 8})
    );
    assert_eq!(
        full["responseTokens"]["speak"],
        json!({"avg": 2.0, "p95": 2})
    );
    assert_eq!(
        full["latency"]["speak"],
        json!({"p50": 12.0, "p95": 12.0, "p99": 12.0})
    );
    assert_eq!(full["calls"], json!({"speak": 1, "fail": 1}));
    assert_eq!(
        full["errors"],
        json!({"speak": {}, "fail": {"CONFLICT": 1}})
    );
    assert_eq!(full["refusals"], json!({"speak": {}, "fail": {}}));
}

// R-M3
#[tokio::test]
async fn sessions_and_remembered_turns_are_counted() {
    let runtime = runtime(tools![idle], free());
    let loops = || document(&runtime)["loopDetection"].clone();
    let (one, two) = (
        open(&runtime, "1", Mode::Text).await,
        open(&runtime, "2", Mode::Voice).await,
    );
    assert_eq!(
        loops(),
        json!({"activeSessions": 2, "totalTurnsTracked": 0})
    );
    call(&two, "idle", json!({})).await;
    for _ in 0..9 {
        call(&one, "idle", json!({})).await;
        call(&one, "idle", json!({})).await;
        one.next_turn().await;
    }
    // R-L4: the last five of each session, of which the current one of `one` has no calls.
    assert_eq!(
        loops(),
        json!({"activeSessions": 2, "totalTurnsTracked": 5})
    );
    call(&one, "idle", json!({})).await;
    assert_eq!(
        loops(),
        json!({"activeSessions": 2, "totalTurnsTracked": 6})
    );
    two.end().await;
    assert_eq!(
        loops(),
        json!({"activeSessions": 1, "totalTurnsTracked": 5})
    );
    drop(one);
    assert_eq!(
        loops(),
        json!({"activeSessions": 0, "totalTurnsTracked": 0})
    );
}

// R-M3
#[tokio::test(start_paused = true)]
async fn prometheus_text_uses_base_units() {
    let runtime = runtime(tools![speak, fail], free());
    let session = open(&runtime, "s", Mode::Text).await;
    for millis in [10, 20, 30] {
        say(&session, millis, millis).await;
    }
    call(&session, "fail", json!({"conflict": true})).await;
    session.observe_context(1_234);
    let text = runtime.metrics().prometheus();
    for line in [
        "# TYPE tool_calls_total counter",
        "tool_calls_total{tool=\"speak\"} 3",
        "tool_errors_total{tool=\"fail\",type=\"CONFLICT\"} 1",
        "# TYPE tool_call_duration_seconds summary",
        "tool_call_duration_seconds{tool=\"speak\",quantile=\"0.5\"} 0.020000",
        "tool_call_duration_seconds{tool=\"speak\",quantile=\"0.99\"} 0.030000",
        "tool_call_duration_seconds_sum{tool=\"speak\"} 0.060000",
        "tool_call_duration_seconds_count{tool=\"speak\"} 3",
        "tool_response_size_characters{tool=\"speak\",quantile=\"0.95\"} 32",
        "tool_response_size_characters_sum{tool=\"speak\"} 66",
        "tool_response_tokens_average{tool=\"speak\"} 5.666666666666667",
        "tool_response_tokens_p95{tool=\"speak\"} 8",
        "tool_context_peak_tokens 1234",
        "tool_sessions_active 1",
        "tool_turns_tracked 1",
    ] {
        assert!(text.lines().any(|known| known == line), "{line}\n{text}");
    }
    // Every sample belongs to a declared family.
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let name = line.split(['{', ' ']).next().expect("a name");
        let family = name.trim_end_matches("_sum").trim_end_matches("_count");
        assert!(
            text.contains(&format!("# TYPE {family} "))
                && text.contains(&format!("# HELP {family} ")),
            "{line}"
        );
    }
}

// R-M1
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_counting_loses_nothing() {
    let runtime = runtime(tools![idle], free());
    let tasks = (0..16).map(|number| {
        let runtime = runtime.clone();
        tokio::spawn(async move {
            let session = open(&runtime, &format!("s-{number}"), Mode::Text).await;
            for n in 0..500 {
                session
                    .call(ToolCall::new(n.to_string(), "idle", "{}"))
                    .await;
                // Concurrent reads do not interfere.
                if n % 100 == 0 {
                    let sizes = runtime.metrics().tools["idle"].sizes;
                    assert_eq!((sizes.p50, sizes.p99), (1, 1));
                }
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.expect("no panic");
    }
    let measured = &runtime.metrics().tools["idle"];
    assert_eq!((measured.calls, measured.characters), (8_000, 8_000));
}
