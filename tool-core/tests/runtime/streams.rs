//! Tools that return a stream: the reports of their items, which need no context parameter, and the errors of items.

use crate::support::{asked, call, kind, message, runtime, text, tools};
use crate::support_b::{begin, ms};
use futures_util::stream::{self, Stream, StreamExt};
use serde_json::json;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tool_core::call::ResultForm;
use tool_core::session::HookedCall;
use tool_core::{
    ErrorKind, Mode, Policy, RunContext, Runtime, Session, ToolCall, ToolContext, ToolError, tool,
};

/// Count.
#[tool]
fn count(to: u32) -> impl Stream<Item = u32> + Send {
    stream::iter(1..=to)
}

/// Count slowly.
#[tool]
async fn count_slowly(to: u32) -> impl Stream<Item = u32> + Send {
    ms(10).await;
    stream::iter(1..=to).then(|number| async move {
        ms(10).await;
        number
    })
}

/// Count where nothing else is done.
#[tool(blocking)]
fn count_aside(to: u32) -> impl Stream<Item = u32> + Send {
    stream::iter(1..=to)
}

/// Count once a person agrees.
#[tool(confirm)]
fn count_if_agreed(to: u32) -> impl Stream<Item = u32> + Send {
    stream::iter(1..=to)
}

/// Count if it can be counted.
#[tool]
fn try_to_count(to: u32) -> Result<impl Stream<Item = u32> + Send, ToolError> {
    if to > 9 {
        Err(ToolError::permanent("too many"))
    } else {
        Ok(stream::iter(1..=to))
    }
}

/// Let another tool count.
#[tool]
async fn delegate(ctx: &RunContext) -> Option<String> {
    ctx.call("count", json!({"to": 2}))
        .await
        .data_json()
        .map(str::to_owned)
}

/// Return a megabyte.
#[tool]
fn megabyte(n: u32) -> impl Stream<Item = String> + Send {
    stream::iter([n.to_string().repeat(1_000_000 / n.to_string().len())])
}

fn all() -> ToolContext {
    tools![
        count,
        count_slowly,
        count_aside,
        count_if_agreed,
        try_to_count,
        delegate,
        megabyte
    ]
}

fn free() -> Policy {
    Policy::text().repeated_calls(None)
}

async fn session() -> Session {
    text(all(), free()).await
}

/// A call, and what its listener hears.
fn heard(call: ToolCall) -> (ToolCall, Arc<Mutex<Vec<String>>>) {
    let heard = Arc::<Mutex<Vec<String>>>::default();
    let listener = Arc::clone(&heard);
    (
        call.on_update(move |update| listener.lock().expect("heard").push(update.message.clone())),
        heard,
    )
}

/// The kept updates: the ids of their calls, and the messages.
fn kept(session: &Session) -> Vec<(String, String)> {
    session
        .updates()
        .into_iter()
        .map(|kept| (kept.call_id, kept.update.message))
        .collect()
}

fn pairs(id: &str, messages: &[&str]) -> Vec<(String, String)> {
    messages
        .iter()
        .map(|message| (id.to_owned(), (*message).to_owned()))
        .collect()
}

// L24
#[tokio::test(start_paused = true)]
async fn items_reach_the_listener_of_their_call() {
    for tool in ["count", "count_slowly", "count_aside", "try_to_count"] {
        let session = session().await;
        let (call, heard) = heard(asked(tool, json!({"to": 3})));
        assert_eq!(
            session.call(call).await.data_json(),
            Some("[1,2,3]"),
            "{tool}"
        );
        assert_eq!(*heard.lock().expect("heard"), ["1", "2", "3"], "{tool}");
        assert_eq!(kept(&session), [], "{tool}: who listens has them");
    }
}

// L24
#[tokio::test(start_paused = true)]
async fn items_without_a_listener_are_kept_under_their_call() {
    for tool in ["count", "count_slowly", "count_aside"] {
        let session = session().await;
        let response = session
            .call(ToolCall::new("c1", tool, json!({"to": 2})))
            .await;
        assert_eq!(response.data_json(), Some("[1,2]"), "{tool}");
        session
            .call(ToolCall::new("c2", tool, json!({"to": 1})))
            .await;
        let expected = [pairs("c1", &["1", "2"]), pairs("c2", &["1"])].concat();
        assert_eq!(kept(&session), expected, "{tool}");
    }
}

// L24, R-C1
#[tokio::test]
async fn items_of_an_approved_call_are_kept() {
    let session = session().await;
    let waits = session
        .call(ToolCall::new("c1", "count_if_agreed", json!({"to": 2})))
        .await;
    let token = &waits
        .meta()
        .confirmation()
        .expect("a person is asked")
        .token;
    assert_eq!(session.approve(token).await.data_json(), Some("[1,2]"));
    assert_eq!(kept(&session), pairs("c1", &["1", "2"]));
}

// L24, R-B4
#[tokio::test]
async fn items_of_a_nested_call_have_its_id() {
    let session = session().await;
    let response = session.call(ToolCall::new("c1", "delegate", "{}")).await;
    assert_eq!(response.data_json(), Some(r#""[1,2]""#));
    assert_eq!(kept(&session), pairs("c1.1", &["1", "2"]));
}

// L24
#[tokio::test]
async fn items_of_a_call_with_hooks_are_kept() {
    let before = async |_: HookedCall<'_>| Ok(());
    let runtime = Runtime::builder(all())
        .policy(free())
        .before(before)
        .build()
        .expect("a runtime");
    let session = runtime.session("s", Mode::Text).await.expect("a session");
    session
        .call(ToolCall::new("c1", "count", json!({"to": 2})))
        .await;
    assert_eq!(kept(&session), pairs("c1", &["1", "2"]));
}

// L24
#[tokio::test]
async fn items_of_repaired_arguments_are_kept() {
    let session = session().await;
    session
        .call(ToolCall::new("c1", "count", json!({"to": "2"})))
        .await;
    assert_eq!(kept(&session), pairs("c1", &["1", "2"]));
}

// L24
#[tokio::test(start_paused = true)]
async fn items_of_concurrent_calls_do_not_mix() {
    let session = session().await;
    let (one, of_one) = heard(ToolCall::new("c1", "count_slowly", json!({"to": 4})));
    let (two, of_two) = heard(ToolCall::new("c2", "count_slowly", json!({"to": 3})));
    session.call_all([one, two]).await;
    assert_eq!(*of_one.lock().expect("heard"), ["1", "2", "3", "4"]);
    assert_eq!(*of_two.lock().expect("heard"), ["1", "2", "3"]);
}

// L24
#[tokio::test(start_paused = true)]
async fn items_of_a_cancelled_call_are_kept() {
    let session = session().await;
    let running = begin(&session, "c1", "count_slowly", r#"{"to":100}"#).await;
    ms(35).await;
    assert!(session.cancel("c1"));
    assert_eq!(
        kind(&running.await.expect("ends")),
        Some(ErrorKind::Cancelled)
    );
    assert_eq!(kept(&session), pairs("c1", &["1", "2"]));
}

// L24, T12
#[tokio::test]
async fn kept_items_are_bounded_by_their_size() {
    let session = session().await;
    for n in 0..40 {
        assert!(call(&session, "megabyte", json!({"n": n})).await.is_ok());
    }
    let kept = kept(&session);
    assert_eq!(kept.len(), 1, "the newest is kept whatever its size");
    assert!(kept[0].1.starts_with("\"3939"));
}

// L24
#[tokio::test]
async fn panic_of_a_listener_does_not_change_the_result() {
    let session = session().await;
    let deaf = asked("count", json!({"to": 2})).on_update(|_| panic!("deaf"));
    assert_eq!(session.call(deaf).await.data_json(), Some("[1,2]"));
}

struct Unwell;

impl fmt::Display for Unwell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it is unwell")
    }
}

fn pages<E>(error: impl Fn() -> E) -> impl Stream<Item = Result<String, E>> {
    let pages = (1..=3).map(|page| {
        if page < 3 {
            Ok(format!("page {page}"))
        } else {
            Err(error())
        }
    });
    stream::iter(pages.collect::<Vec<_>>())
        .chain(stream::once(async { unreachable!("it has failed") }))
}

/// Read pages until the service is busy.
#[tool]
fn busy() -> impl Stream<Item = Result<String, ToolError>> + Send {
    pages(|| ToolError::rate_limit("wait 30 s").partial_side_effects(true))
}

/// Read pages until a text says why not.
#[tool]
async fn refused() -> impl Stream<Item = Result<String, &'static str>> + Send {
    ms(1).await;
    pages(|| "page 3 is locked")
}

/// Read pages until a library fails.
#[tool]
fn broken() -> stream::BoxStream<'static, Result<String, std::io::Error>> {
    pages(|| std::io::Error::other("canary")).boxed()
}

/// Read pages until something is displayed.
#[tool]
fn unwell() -> impl Stream<Item = Result<String, Unwell>> + Send {
    pages(|| Unwell)
}

/// Read pages until a library fails, and show why.
#[tool(errors = "show")]
fn shown() -> impl Stream<Item = Result<String, std::io::Error>> + Send {
    pages(|| std::io::Error::other("the disk is full"))
}

/// Fail at once.
#[tool]
fn at_once() -> impl Stream<Item = Result<u8, ToolError>> + Send {
    stream::iter([Err(ToolError::conflict("taken")), Ok(1)])
}

/// Return a good many pages before the error.
#[tool(max_output = 100)]
fn long() -> impl Stream<Item = Result<String, String>> + Send {
    let pages = (1..=4).map(|page| Ok(page.to_string().repeat(30)));
    stream::iter(pages.chain([Err("torn".to_owned())]).collect::<Vec<_>>())
}

/// Return what does not serialise.
#[tool]
fn unwritable() -> impl Stream<Item = std::collections::BTreeMap<Vec<u8>, u8>> + Send {
    stream::iter([[].into(), [(vec![1], 1)].into()])
}

async fn failing() -> Session {
    text(
        tools![
            busy, refused, broken, unwell, shown, at_once, long, unwritable
        ],
        free(),
    )
    .await
}

const ITEMS: &str = r#"It had returned these items before the error: ["page 1","page 2"]"#;

// D10
#[tokio::test(start_paused = true)]
async fn stream_fails_at_its_first_error() {
    let session = failing().await;
    for (tool, expected, text) in [
        ("busy", ErrorKind::RateLimit, "wait 30 s"),
        ("refused", ErrorKind::Permanent, "page 3 is locked"),
        ("broken", ErrorKind::Internal, "An internal error occurred"),
        ("unwell", ErrorKind::Internal, "An internal error occurred"),
        ("shown", ErrorKind::Permanent, "the disk is full"),
    ] {
        let (asked, heard) = heard(asked(tool, json!({})));
        let response = session.call(asked).await;
        let expected = (Some(expected), format!("{text}\n{ITEMS}"));
        assert_eq!(
            (kind(&response), message(&response).to_owned()),
            expected,
            "{tool}"
        );
        assert_eq!(
            *heard.lock().expect("heard"),
            [r#""page 1""#, r#""page 2""#],
            "{tool}"
        );
        assert_eq!(response.clone().into_text(), message(&response), "{tool}");
        assert_eq!(
            response.for_model(ResultForm::Plain).text,
            message(&response),
            "{tool}"
        );
    }
}

// D10, R-E3
#[tokio::test]
async fn error_of_an_item_keeps_its_flags() {
    let response = call(&failing().await, "busy", json!({})).await;
    let error = response.error().expect("an error");
    assert_eq!((error.retryable, error.partial_side_effects), (true, true));
}

// D10
#[tokio::test]
async fn error_of_the_first_item_stands_alone() {
    let response = call(&failing().await, "at_once", json!({})).await;
    assert_eq!(
        (kind(&response), message(&response)),
        (Some(ErrorKind::Conflict), "taken")
    );
}

// D10, T9
#[tokio::test]
async fn items_before_an_error_are_cut_as_a_result_is() {
    let response = call(&failing().await, "long", json!({})).await;
    let (text, items) = message(&response)
        .split_once("before the error: ")
        .expect("items");
    assert!(text.starts_with("torn\n"), "{text}");
    let cut: serde_json::Value = serde_json::from_str(items).expect("JSON");
    assert_eq!(cut["partial"][0], "1".repeat(30));
    assert!(
        cut["partial"].to_string().len() <= 105 && response.meta().truncated().is_some(),
        "{items}"
    );
}

// D10
#[tokio::test]
async fn item_that_does_not_serialise_is_an_error_after_the_others() {
    let response = call(&failing().await, "unwritable", json!({})).await;
    assert_eq!(kind(&response), Some(ErrorKind::Internal));
    assert!(
        message(&response).ends_with("before the error: [{}]"),
        "{}",
        message(&response)
    );
}

// D10
#[tokio::test]
async fn bare_stream_fails_at_its_first_error() {
    let ctx = RunContext::detached();
    let response = tools![busy].call("busy", "{}", &ctx).await;
    assert_eq!(
        (kind(&response), message(&response)),
        (Some(ErrorKind::RateLimit), &*format!("wait 30 s\n{ITEMS}"))
    );
    assert_eq!(ctx.progress().take().len(), 2);
}

// T1
#[tokio::test]
async fn items_before_an_error_are_not_in_its_span() {
    let collector = tool_core::trace::Collector::new();
    let session = failing().await;
    collector.run(call(&session, "busy", json!({}))).await;
    let report = collector.report();
    assert_eq!(
        report.spans()[0]
            .error()
            .and_then(|error| error.message.as_deref()),
        Some("wait 30 s")
    );
}

// R-B5
#[tokio::test(start_paused = true)]
async fn reports_of_a_stream_come_before_its_end() {
    let runtime = runtime(all(), free());
    let session = runtime.session("s", Mode::Text).await.expect("a session");
    let (call, heard) = heard(asked("count_slowly", json!({"to": 100})));
    let running = tokio::spawn(async move { session.call(call).await });
    tokio::time::sleep(Duration::from_millis(35)).await;
    assert_eq!(*heard.lock().expect("heard"), ["1", "2"]);
    running.abort();
}
