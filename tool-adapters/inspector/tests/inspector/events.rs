//! The stream of events, with spans and metrics.

use crate::support::{RELEASED, served, served_with};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::io::AsyncReadExt;
use tool_core::trace::Collector;
use tool_core::{CancellationToken, Mode, RunContext, ToolCall};

fn spans(events: &str) -> Vec<Value> {
    let data = events
        .lines()
        .filter_map(|line| line.strip_prefix("data: "));
    let documents = data.filter_map(|text| serde_json::from_str::<Value>(text).ok());
    documents
        .filter_map(|document| document["spans"].as_array().cloned())
        .flatten()
        .collect()
}

#[tokio::test]
async fn a_call_of_the_page_is_streamed_as_a_span() {
    let served = served().await;
    served.open("s", Mode::Text).await;
    let arguments = json!({"user": "ann", "password": "hunter2"});
    served.call_in("s", "sign_in", arguments).await;
    let events = served.events_until(0, "event: spans").await;
    let span = spans(&events)[0].clone();
    assert_eq!(
        (&span["kind"], &span["name"], &span["status"]),
        (&json!("tool"), &json!("sign_in"), &json!("ok"))
    );
    assert_eq!(
        span["attributes"]["gen_ai.tool.call.arguments"],
        r#"{"user":"ann","password":"[redacted]"}"#
    );
    assert_eq!(
        span["attributes"]["gen_ai.tool.call.result"],
        r#""welcome, ann""#
    );
}

#[tokio::test]
async fn a_failed_span_has_its_error() {
    let served = served().await;
    let call = json!({"tool": "sign_in", "arguments": r#"{"user": "ann", "password": "x"}"#});
    served.post("/api/call", call).await;
    let span = spans(&served.events_until(0, "event: spans").await)[0].clone();
    assert_eq!(
        (&span["status"], &span["error"]["kind"]),
        (&json!("error"), &json!("AUTH"))
    );
}

#[tokio::test]
async fn a_stream_goes_on_after_the_last_span() {
    let served = served().await;
    for query in ["a", "b"] {
        let arguments = json!({"query": query}).to_string();
        served
            .post(
                "/api/call",
                json!({"tool": "search", "arguments": arguments}),
            )
            .await;
    }
    let events = served.events_until(1, "event: spans").await;
    assert_eq!(spans(&events).len(), 1);
    assert!(events.contains("id: 2"), "{events}");
}

#[tokio::test]
async fn the_spans_of_a_collector_reach_the_page() {
    let mut log = None;
    let served = served_with(|inspector| {
        log = Some(inspector.span_log());
        inspector
    });
    let served = served.await;
    let collector = Collector::builder().sink(log.expect("a log")).build();
    let tools = served.runtime.tools();
    collector
        .run(tools.call("hang_up", "{}", &RunContext::detached()))
        .await;
    let events = served.events_until(0, "event: spans").await;
    assert_eq!(spans(&events)[0]["name"], "hang_up");
}

#[tokio::test]
async fn metrics_follow_the_calls() {
    let served = served().await;
    served.events_until(0, "event: metrics").await;
    let session = served
        .runtime
        .session("other", Mode::Text)
        .await
        .expect("opens");
    session
        .call(ToolCall::new("1", "search", json!({"query": "x"})))
        .await;
    served.events_until(0, r#""calls":{"search":1}"#).await;
    assert_eq!(
        served.get("/api/metrics").await["calls"],
        json!({"search": 1})
    );
}

#[tokio::test]
async fn circuit_breakers_are_among_the_metrics() {
    let served = served().await;
    assert_eq!(served.get("/api/metrics").await["circuits"], json!([]));
    let session = served.runtime.session("other", Mode::Text).await;
    let session = session.expect("opens");
    session
        .call(ToolCall::new("1", "search", json!({"query": "x"})))
        .await;
    let circuit =
        json!({"scope": "tool", "name": "search", "state": "closed", "opened": 0, "refused": 0});
    assert_eq!(
        served.get("/api/metrics").await["circuits"],
        json!([circuit])
    );
}

#[tokio::test]
async fn approvals_are_in_the_stream() {
    let served = served().await;
    served.open("s", Mode::Text).await;
    served.call_in("s", "delete", json!({"id": 7})).await;
    let events = served.events_until(0, "event: sessions").await;
    assert!(events.contains(r#""tool":"delete""#), "{events}");
}

#[tokio::test]
async fn the_number_of_streams_is_bounded() {
    let served = served().await;
    let mut streams = Vec::new();
    for _ in 0..8 {
        let mut stream = served.event_stream(0).await;
        assert!(stream.read(&mut [0; 64]).await.expect("an answer") > 0);
        streams.push(stream);
    }
    let answer = served.send("GET", "/api/events/0", "").await;
    assert!(
        answer.error(503).contains("8 pages are open"),
        "{}",
        answer.body
    );
    drop(streams.pop());
    // The server notes at its next event that the page is gone.
    while served.event_stream_status().await != 200 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_shutdown_ends_the_streams() {
    let shutdown = CancellationToken::new();
    let served = served_with(|inspector| inspector.shutdown(shutdown.clone())).await;
    let mut stream = served.event_stream(0).await;
    assert!(stream.read(&mut [0; 64]).await.expect("an answer") > 0);
    shutdown.cancel();
    let mut rest = Vec::new();
    stream
        .read_to_end(&mut rest)
        .await
        .expect("the stream ends");
}

/// Returns the running spans of the last event of that kind.
fn running(events: &str) -> Vec<Value> {
    let last = events
        .rsplit("event: running\ndata: ")
        .next()
        .and_then(|rest| rest.lines().next());
    let document = last
        .and_then(|text| serde_json::from_str::<Value>(text).ok())
        .unwrap_or_default();
    document["spans"].as_array().cloned().unwrap_or_default()
}

#[tokio::test]
async fn a_running_call_is_streamed_with_its_progress() {
    let served = Arc::new(served().await);
    let call = json!({"tool": "import", "arguments": r#"{"slot": 0}"#, "id": "page_1"});
    let caller = Arc::clone(&served);
    let answer = tokio::spawn(async move { caller.post("/api/call", call).await });
    let events = served.events_until(0, "almost done").await;
    let events = events + &served.events_until(0, "\n\n").await;
    let span = running(&events).pop().expect("a span");
    assert_eq!(
        (&span["name"], &span["status"], &span["callId"]),
        (&json!("import"), &json!("running"), &json!("page_1"))
    );
    assert_eq!(span["durationMs"], Value::Null);
    assert_eq!(
        span["updates"][0],
        json!({"message": "half of it with Bearer [redacted]", "fraction": 0.5})
    );
    assert_eq!(
        span["updates"][1],
        json!({"message": "almost done", "fraction": null})
    );
    RELEASED[0].add_permits(1);
    answer.await.expect("no panic");
}

#[tokio::test]
async fn a_running_span_becomes_an_ended_one() {
    let served = Arc::new(served().await);
    let caller = Arc::clone(&served);
    let call = json!({"tool": "import", "arguments": r#"{"slot": 1}"#});
    let answer = tokio::spawn(async move { caller.post("/api/call", call).await });
    let mut stream = served.event_stream(0).await;
    let (mut read, mut buffer) = (String::new(), [0; 4096]);
    let mut is_released = false;
    // The list of running spans is sent again once it is empty.
    while !read.contains("\"spans\":[]}\n") {
        let bytes = stream.read(&mut buffer).await.expect("the server sends");
        read.push_str(&String::from_utf8_lossy(&buffer[..bytes]));
        if read.contains("almost done") && !std::mem::replace(&mut is_released, true) {
            RELEASED[1].add_permits(1);
        }
    }
    assert_eq!(
        answer.await.expect("no panic")["response"]["envelope"]["data"],
        1
    );
    let ended = spans(&read)
        .into_iter()
        .filter(|span| span["status"] == "ok")
        .collect::<Vec<_>>();
    assert_eq!((ended.len(), &ended[0]["name"]), (1, &json!("import")));
}
