//! The handling of API responses. A4

use crate::support::{Calendar, configured, local_egress};
use serde_json::{Value, json};
use tool_core::{ErrorKind, RunContext, ToolContext, ToolResponse};

fn review() -> Value {
    json!({"title": "Review", "start_time": "2026-11-20T09:00:00Z"})
}

fn refusal(status: u16, reason: &str) -> Value {
    json!({"error": {"code": status, "message": "Because.", "errors": [{"reason": reason, "message": "Because."}]}})
}

fn data(response: &ToolResponse) -> Value {
    response.data().unwrap_or_else(|error| panic!("{error}"))
}

#[tokio::test]
async fn a_status_becomes_an_error_type() {
    for (status, reason, kind, retryable) in [
        (400, "badRequest", ErrorKind::Permanent, false),
        (401, "authError", ErrorKind::Auth, false),
        (403, "forbidden", ErrorKind::Auth, false),
        (403, "rateLimitExceeded", ErrorKind::RateLimit, true),
        (403, "userRateLimitExceeded", ErrorKind::RateLimit, true),
        (404, "notFound", ErrorKind::Permanent, false),
        (409, "duplicate", ErrorKind::Conflict, false),
        (429, "rateLimitExceeded", ErrorKind::RateLimit, true),
        (500, "backendError", ErrorKind::Transient, true),
        (503, "backendError", ErrorKind::Transient, true),
    ] {
        let calendar = Calendar::answering(status, refusal(status, reason)).await;
        let response = calendar.call("create_event", review()).await;
        let error = response.error().unwrap();
        assert_eq!(
            (error.kind, error.retryable, error.partial_side_effects),
            (kind, retryable, false),
            "{status}"
        );
        assert_eq!(
            error.message,
            format!("Google Calendar answered {status}: Because.")
        );
    }
}

#[tokio::test]
async fn error_without_a_body_is_described_by_its_status() {
    let calendar = Calendar::answering(502, json!("<html>")).await;
    let response = calendar
        .call("list_events", json!({"time_min": "2026-11-20T09:00:00Z"}))
        .await;
    assert_eq!(
        response.error().unwrap().message,
        "Google Calendar answered 502: Bad Gateway"
    );
}

#[tokio::test]
async fn response_without_events_is_transient() {
    for answer in [
        json!({}),
        json!([]),
        json!("items"),
        json!(null),
        json!({"items": {}}),
    ] {
        let calendar = Calendar::answering(200, answer).await;
        let response = calendar
            .call("list_events", json!({"time_min": "2026-11-20T09:00:00Z"}))
            .await;
        assert_eq!(response.error().unwrap().kind, ErrorKind::Transient);
    }
}

#[tokio::test]
async fn unreachable_server_is_transient() {
    let calendar = configured(
        json!({"base_url": "http://127.0.0.1:1"}),
        json!({"access_token": "x"}),
    )
    .await
    .unwrap();
    let tools = ToolContext::builder().with(calendar).build().unwrap();
    let ctx = RunContext::builder().user_data(local_egress()).build();
    let response = tools.call("create_event", review(), &ctx).await;
    let error = response.error().unwrap();
    assert_eq!((error.kind, error.retryable), (ErrorKind::Transient, true));
    assert!(!error.partial_side_effects);
}

// T20
#[tokio::test]
async fn settings_reach_public_servers_only() {
    for base_url in [
        "http://127.0.0.1:1",
        "http://169.254.169.254/latest",
        "http://[fd00:ec2::254]",
        "https://10.0.0.1",
        "http://2130706433",
        "http://user@calendar.example",
        "ftp://calendar.example",
    ] {
        let calendar = configured(json!({"base_url": base_url}), json!({"access_token": "x"}))
            .await
            .unwrap();
        let tools = ToolContext::builder().with(calendar).build().unwrap();
        let response = tools
            .call("create_event", review(), &RunContext::detached())
            .await;
        let error = response.error().unwrap();
        assert_eq!(
            (error.kind, error.partial_side_effects),
            (ErrorKind::Permanent, false),
            "{base_url}: {error:?}"
        );
    }
}

#[tokio::test]
async fn write_with_a_lost_answer_is_not_retryable() {
    let lost = axum::Router::new().fallback(|| std::future::ready("{\"id\": \"eve"));
    let calendar = Calendar::with(lost, json!({}), json!({"access_token": "x"})).await;
    let response = calendar.call("create_event", review()).await;
    let error = response.error().unwrap();
    assert_eq!((error.kind, error.retryable), (ErrorKind::Transient, false));
    assert!(
        error.partial_side_effects && error.message.contains("may exist already"),
        "{}",
        error.message
    );
}

#[tokio::test]
async fn creating_returns_the_reply_of_the_api() {
    let reply = json!({"id": "abc", "htmlLink": "https://calendar.example/abc", "more": [1, 2]});
    let calendar = Calendar::answering(200, reply.clone()).await;
    assert_eq!(data(&calendar.call("create_event", review()).await), reply);
}

#[tokio::test]
async fn listing_returns_events_by_start() {
    let calendar = Calendar::new().await;
    for (title, start) in [
        ("Late", "2026-11-20T15:00:00Z"),
        ("Early", "2026-11-20T07:00:00Z"),
    ] {
        calendar
            .call("create_event", json!({"title": title, "start_time": start}))
            .await;
    }
    let data = data(
        &calendar
            .call("list_events", json!({"time_min": "2026-11-20T00:00:00Z"}))
            .await,
    );
    let titles: Vec<_> = data["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| &event["summary"])
        .collect();
    assert_eq!(titles, ["Early", "Late"]);
}

#[tokio::test]
async fn period_is_free_unless_an_event_overlaps() {
    let calendar = Calendar::new().await;
    calendar.call("create_event", review()).await;
    for (date, available) in [
        ("2026-11-20T08:30:00Z", true),
        ("2026-11-20T08:31:00Z", false),
        ("2026-11-20T09:29:00Z", false),
        ("2026-11-20T09:30:00Z", true),
    ] {
        let data = data(
            &calendar
                .call("check_availability", json!({"date": date}))
                .await,
        );
        assert_eq!(data["available"], available, "{date}: {data}");
        assert_eq!(
            data["conflicts"].as_array().unwrap().len(),
            usize::from(!available)
        );
    }
}

#[tokio::test]
async fn transparent_event_is_not_a_conflict() {
    let items = json!([{"summary": "Birthday", "transparency": "transparent"}]);
    let calendar = Calendar::answering(200, json!({"items": items})).await;
    let data = data(
        &calendar
            .call(
                "check_availability",
                json!({"date": "2026-11-20T08:30:00Z"}),
            )
            .await,
    );
    assert_eq!(data, json!({"available": true, "conflicts": []}));
}

#[tokio::test]
async fn end_beyond_the_calendar_is_an_error_response() {
    let arguments = json!({"title": "Party", "start_time": "9999-12-30T21:59:00Z"});
    let response = Calendar::new().await.call("create_event", arguments).await;
    assert_eq!(response.error().unwrap().kind, ErrorKind::Permanent);
}
