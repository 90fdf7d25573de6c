//! Attacks on duplicates, approvals and defaults.

use crate::support::{call, kind, text, tools};
use crate::support_b::{answer, begin, ms};
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;
use tool_core::{
    ErrorKind, FunctionTool, Policy, RawTool, RunContext, ToolCall, ToolError, ToolResponse, tool,
};

/// Work.
#[tool(name = "work", on_duplicate = "reject")]
async fn work(n: u32) -> u32 {
    ms(100).await;
    n
}

/// Pay.
#[tool(name = "pay", confirm, on_duplicate = "confirm")]
async fn pay(n: u32) -> u32 {
    ms(100).await;
    n
}

// R-L1, R-L3, L17
#[tokio::test(start_paused = true)]
async fn repeated_duplicates_are_a_loop() {
    let session = text(tools![work], Policy::text()).await;
    let running = begin(&session, "c", "work", r#"{"n":1}"#).await;
    let again = [
        call(&session, "work", json!({"n": 1})).await,
        call(&session, "work", json!({"n": 1})).await,
    ];
    assert_eq!(
        again.each_ref().map(kind),
        [Some(ErrorKind::Conflict), Some(ErrorKind::LoopDetected)]
    );
    assert!(answer(running).await.is_ok());
}

fn token(response: &ToolResponse) -> String {
    response
        .meta()
        .confirmation()
        .expect("a person is asked")
        .token
        .clone()
}

// L17, R-C1
#[tokio::test(start_paused = true)]
async fn approved_call_runs_beside_another() {
    let session = text(tools![pay], Policy::text()).await;
    let first = token(&call(&session, "pay", json!({"n": 1})).await);
    let approving = session.clone();
    let first = tokio::spawn(async move { approving.approve(&first).await });
    ms(1).await;
    let second = call(&session, "pay", json!({"n": 2, "confirm_duplicate": true})).await;
    assert_eq!(
        session.approve(&token(&second)).await.data_json(),
        Some("2")
    );
    assert_eq!(answer(first).await.data_json(), Some("1"));
}

/// Send an e-mail.
#[tool(name = "mail", confirm)]
fn mail(body: String, to: String) -> usize {
    body.len() + to.len()
}

async fn summary(arguments: Value) -> String {
    let response = call(&text(tools![mail], Policy::text()).await, "mail", arguments).await;
    response
        .meta()
        .confirmation()
        .expect("a person is asked")
        .summary
        .clone()
}

// R-C1
#[tokio::test]
async fn long_argument_hides_no_other_in_the_summary() {
    let shown = summary(json!({"body": "Hello. ".repeat(800), "to": "eve@example.org"})).await;
    assert!(
        shown.contains("Hello. Hello.") && shown.contains(r#"to: "eve@example.org""#),
        "{shown}"
    );
    assert!(shown.len() < 1_000, "{} bytes", shown.len());
}

/// The controls, and the characters that Unicode calls formats or ignorable by default and that show nothing.
fn invisible_characters() -> impl Iterator<Item = char> {
    let ranges = [
        0..=0x1f,
        0x7f..=0x9f,
        0xad..=0xad,
        0x34f..=0x34f,
        0x61c..=0x61c,
        0x115f..=0x1160,
        0x17b4..=0x17b5,
        0x180b..=0x180f,
        0x200b..=0x200f,
        0x2028..=0x202e,
        0x2060..=0x206f,
        0x3164..=0x3164,
        0xfe00..=0xfe0f,
        0xfeff..=0xfeff,
        0xffa0..=0xffa0,
        0xfff0..=0xfffb,
        0x1_3430..=0x1_343f,
        0x1_bca0..=0x1_bca3,
        0x1_d173..=0x1_d17a,
        0xe_0000..=0xe_0fff,
    ];
    ranges.into_iter().flatten().filter_map(char::from_u32)
}

// R-C1
#[tokio::test]
async fn summary_hides_no_character() {
    let session = text(
        tools![mail],
        Policy::text()
            .max_turn_approvals(10_000)
            .max_approvals(10_000),
    )
    .await;
    let mut shown = 0;
    for character in invisible_characters() {
        let arguments = json!({"body": format!("a{character}b"), "to": "ada"});
        let response = call(&session, "mail", arguments).await;
        let summary = &response
            .meta()
            .confirmation()
            .expect("a person is asked")
            .summary;
        assert!(
            !summary.contains(character) && summary.contains('\\'),
            "{summary:?}"
        );
        shown += 1;
    }
    assert!(shown > 4_000, "{shown}");
}

#[derive(Deserialize, tool_core::schemars::JsonSchema)]
#[schemars(crate = "tool_core::schemars")]
struct Page {
    query: String,
    #[serde(default = "five")]
    limit: u32,
}

fn five() -> u32 {
    5
}

/// Find pages.
#[tool(name = "pages")]
fn pages(#[arg(flatten)] page: Page) -> String {
    format!("{} {}", page.query, page.limit)
}

// R-L3
#[tokio::test]
async fn flattened_default_equals_the_given_value() {
    let session = text(tools![pages], Policy::text()).await;
    for same in [r#"{"query":"a"}"#, r#"{"query":"a","limit":5}"#] {
        assert!(
            session
                .call(ToolCall::new("c", "pages", same))
                .await
                .is_ok(),
            "{same}"
        );
    }
    let third = session
        .call(ToolCall::new("c", "pages", r#"{"limit":5.0,"query":"a"}"#))
        .await;
    assert_eq!(kind(&third), Some(ErrorKind::LoopDetected));
    assert!(
        session
            .call(ToolCall::new("c", "pages", r#"{"query":"a","limit":6}"#))
            .await
            .is_ok()
    );
}

// R-B5
#[tokio::test]
async fn times_of_a_policy_can_be_endless() {
    for time in [Duration::MAX, Duration::from_secs(i64::MAX.cast_unsigned())] {
        let policy = Policy::text()
            .deadline(time)
            .store_deadline(time)
            .idle_timeout(time)
            .confirmation_lifetime(time);
        let policy = policy
            .result_cache_ttl(Some(time))
            .warn_after(Some(time))
            .warn_retrieval_after(Some(time));
        let raw = RawTool {
            name: "wait".into(),
            description: String::new(),
            parameters: json!({"type": "object"}),
        };
        let wait = FunctionTool::raw(raw, async |_: Value, ctx: &RunContext| {
            tokio::task::yield_now().await;
            Ok::<_, ToolError>(json!(ctx.deadline().is_some()))
        });
        let session = text(tools![wait.timeout(time).blocking(), mail], policy).await;
        assert_eq!(
            call(&session, "wait", json!({})).await.data_json(),
            Some("true")
        );
        let waits = call(&session, "mail", json!({"body": "a", "to": "b"})).await;
        assert_eq!(session.approve(&token(&waits)).await.data_json(), Some("2"));
        assert!(!session.next_turn().await.ended);
    }
}

// R-C1
#[tokio::test]
async fn approval_can_use_the_whole_deadline() {
    for lifetime in [Duration::MAX, Duration::from_secs(u64::MAX / 4)] {
        let session = text(tools![mail], Policy::text().confirmation_lifetime(lifetime)).await;
        let waits = call(&session, "mail", json!({"body": "a", "to": "b"})).await;
        assert_eq!(session.approve(&token(&waits)).await.data_json(), Some("2"));
    }
}
