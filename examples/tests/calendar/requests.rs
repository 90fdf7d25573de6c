//! The requests. A4

use crate::server;
use crate::support::Calendar;
use serde_json::{Value, json};
use std::pin::Pin;
use tool_core::tool::TokenSource;
use tool_core::{Secret, ToolError};

async fn inserted(arguments: Value) -> Value {
    let calendar = Calendar::new().await;
    let response = calendar.call("create_event", arguments).await;
    assert!(response.is_ok(), "{}", response.to_json());
    calendar.only_request().body
}

#[tokio::test]
async fn event_ends_after_its_duration() {
    let body = inserted(json!({
        "title": "Review", "start_time": "2026-11-20T23:30:00+01:00", "duration_minutes": 45,
        "attendees": ["ada@example.com", "grace@example.com"], "description": "Bring the drawings",
    }))
    .await;
    let expected = json!({
        "summary": "Review", "description": "Bring the drawings",
        "start": {"dateTime": "2026-11-20T22:30:00Z"}, "end": {"dateTime": "2026-11-20T23:15:00Z"},
        "attendees": [{"email": "ada@example.com"}, {"email": "grace@example.com"}],
    });
    assert_eq!(body, expected);
}

// L34
#[tokio::test]
async fn absent_null_and_empty_values_are_not_sent() {
    let start = "2026-11-20T08:00:00Z";
    for arguments in [
        json!({"title": "Stand-up", "start_time": start}),
        json!({"title": "Stand-up", "start_time": start, "duration_minutes": null, "attendees": null, "description": null}),
        json!({"title": "Stand-up", "start_time": start, "attendees": []}),
    ] {
        let end = "2026-11-20T08:30:00Z";
        let expected =
            json!({"summary": "Stand-up", "start": {"dateTime": start}, "end": {"dateTime": end}});
        assert_eq!(inserted(arguments).await, expected);
    }
}

#[tokio::test]
async fn list_request_has_the_documented_parameters() {
    let calendar = Calendar::new().await;
    calendar
        .call(
            "list_events",
            json!({"time_min": "2026-11-20T00:00:00+01:00"}),
        )
        .await;
    let end = "2026-11-21T00:00:00Z";
    calendar
        .call(
            "list_events",
            json!({"time_min": "2026-11-20T00:00:00Z", "time_max": end, "max_results": 3}),
        )
        .await;

    let common = [("singleEvents", "true"), ("orderBy", "startTime")];
    let first = [("timeMin", "2026-11-19T23:00:00Z"), ("maxResults", "10")];
    let second = [
        ("timeMin", "2026-11-20T00:00:00Z"),
        ("timeMax", end),
        ("maxResults", "3"),
    ];
    let expected = |own: &[(&str, &str)]| {
        own.iter()
            .chain(&common)
            .map(|(k, v)| ((*k).into(), (*v).into()))
            .collect()
    };
    let queries: Vec<_> = calendar
        .seen()
        .into_iter()
        .map(|request| request.query)
        .collect();
    assert_eq!(queries, [expected(&first), expected(&second)]);
}

#[tokio::test]
async fn requests_use_the_configured_calendar_and_token() {
    let team = json!({"calendar_id": "team#1@example.com"});
    let calendar = Calendar::with(
        server::router(),
        team,
        json!({"access_token": "secret-token"}),
    )
    .await;
    let response = calendar
        .call("list_events", json!({"time_min": "2026-11-20T00:00:00Z"}))
        .await;
    let request = calendar.only_request();
    assert_eq!(request.line, "GET /calendars/team%231@example.com/events");
    assert_eq!(request.authorization, "Bearer secret-token");
    assert_eq!(
        response.error().unwrap().message,
        "Google Calendar answered 404: Not Found"
    );
}

#[tokio::test]
async fn nothing_is_sent_without_a_token() {
    let calendar = Calendar::with(server::router(), json!({}), json!({})).await;
    for (tool, arguments) in [
        ("list_events", json!({"time_min": "2026-11-20T00:00:00Z"})),
        (
            "create_event",
            json!({"title": "Review", "start_time": "2026-11-20T00:00:00Z"}),
        ),
        (
            "check_availability",
            json!({"date": "2026-11-20T00:00:00Z"}),
        ),
    ] {
        let response = calendar.call(tool, arguments).await;
        let error = response.error().unwrap();
        assert_eq!(error.kind.as_str(), "AUTH");
        assert!(
            error.message.contains("access token is missing"),
            "{}",
            error.message
        );
    }
    assert_eq!(calendar.seen().len(), 0);
}

#[tokio::test]
async fn refused_arguments_send_nothing() {
    let calendar = Calendar::new().await;
    for duration in [4, 481] {
        let arguments = json!({"title": "Review", "start_time": "2026-11-20T00:00:00Z", "duration_minutes": duration});
        assert_eq!(
            calendar
                .call("create_event", arguments)
                .await
                .error()
                .unwrap()
                .kind
                .as_str(),
            "VALIDATION"
        );
    }
    assert_eq!(calendar.seen().len(), 0);
}

type Token<'a> = Pin<Box<dyn Future<Output = Result<Secret, ToolError>> + Send + 'a>>;

/// A source whose token was revoked, and which then has another one.
struct Replaces(&'static str);

impl TokenSource for Replaces {
    fn token(&self) -> Token<'_> {
        Box::pin(async { Ok("revoked".into()) })
    }

    fn rejected<'a>(&'a self, _: &'a Secret) -> Token<'a> {
        Box::pin(async { Ok(self.0.into()) })
    }
}

#[tokio::test]
async fn refused_token_is_replaced_once() {
    for (other, is_ok) in [("fresh", true), ("revoked too", false)] {
        let calendar = Calendar::accepting_fresh(Replaces(other)).await;
        let response = calendar
            .call("list_events", json!({"time_min": "2026-11-20T09:00:00Z"}))
            .await;
        assert_eq!(response.is_ok(), is_ok, "{response}");
        let sent = calendar
            .seen()
            .into_iter()
            .map(|seen| seen.authorization)
            .collect::<Vec<_>>();
        assert_eq!(
            sent,
            ["Bearer revoked".to_owned(), format!("Bearer {other}")]
        );
    }
}
