//! The definitions of the tools, and the settings form.

use crate::support::{Calendar, configured, local_egress};
use serde_json::{Value, json};
use tool_core::tool::ToolsetMetadata;
use tool_core::{Auth, Mode, Runtime, ToolCall, ToolContext};

async fn parameters(tool: &str) -> Value {
    Calendar::new()
        .await
        .tools
        .function_tool(tool)
        .unwrap()
        .definition()
        .parameters()
        .clone()
}

fn metadata() -> ToolsetMetadata {
    let tools = ToolContext::discover().unwrap();
    tools
        .unconfigured()
        .iter()
        .find(|toolset| toolset.name == "google_calendar")
        .unwrap()
        .clone()
}

// L34, A4
#[tokio::test]
async fn create_event_requires_a_title_and_a_start_only() {
    let schema = parameters("create_event").await;
    assert_eq!(schema["required"], json!(["title", "start_time"]));
    let duration = &schema["properties"]["duration_minutes"];
    assert_eq!(
        (&duration["type"], &duration["default"]),
        (&json!("integer"), &json!(30))
    );
    assert_eq!(
        (&duration["minimum"], &duration["maximum"]),
        (&json!(5), &json!(480))
    );
    assert_eq!(schema["properties"]["start_time"]["format"], "date-time");
    assert_eq!(
        schema["properties"]["attendees"]["items"]["format"],
        "email"
    );
    assert_eq!(schema["properties"]["description"]["type"], "string");
}

// A4
#[tokio::test]
async fn list_events_takes_a_period_and_up_to_100_events() {
    let schema = parameters("list_events").await;
    assert_eq!(schema["required"], json!(["time_min"]));
    assert_eq!(schema["properties"]["time_max"]["format"], "date-time");
    let count = &schema["properties"]["max_results"];
    assert_eq!(
        (&count["default"], &count["minimum"], &count["maximum"]),
        (&json!(10), &json!(1), &json!(100))
    );
}

// A4
#[tokio::test]
async fn check_availability_takes_15_minutes_to_4_hours() {
    let schema = parameters("check_availability").await;
    assert_eq!(schema["required"], json!(["date"]));
    let length = &schema["properties"]["duration_minutes"];
    assert_eq!(
        (&length["default"], &length["minimum"], &length["maximum"]),
        (&json!(30), &json!(15), &json!(240))
    );
}

// A4
#[tokio::test]
async fn default_duration_comes_from_the_settings() {
    let calendar = configured(json!({"default_event_duration": 50}), json!({}))
        .await
        .unwrap();
    let tools = ToolContext::builder().with(calendar).build().unwrap();
    let schema = tools
        .function_tool("create_event")
        .unwrap()
        .definition()
        .parameters();
    assert_eq!(schema["properties"]["duration_minutes"]["default"], 50);
}

#[tokio::test]
async fn invalid_default_duration_is_refused_as_a_setting() {
    let calendar = configured(json!({"default_event_duration": 600}), json!({}))
        .await
        .unwrap();
    let problem = ToolContext::builder()
        .with(calendar)
        .build()
        .unwrap_err()
        .to_string();
    assert!(
        problem.contains("duration_minutes") && problem.contains("600"),
        "{problem}"
    );
}

#[tokio::test]
async fn invalid_base_url_is_refused() {
    for base_url in ["nonsense", "", "localhost:80/x"] {
        let problem = configured(json!({"base_url": base_url}), json!({}))
            .await
            .err()
            .unwrap();
        assert!(problem.message().contains("is no address"), "{problem}");
    }
}

// A8
#[tokio::test]
async fn schemas_contain_neither_settings_nor_secrets() {
    for tool in Calendar::new().await.tools.definitions() {
        let told = format!("{} {}", tool.description(), tool.parameters_json());
        assert!(
            !["calendar_id", "token", "base_url"]
                .iter()
                .any(|word| told.contains(word)),
            "{told}"
        );
    }
}

// A4
#[test]
fn oauth_asks_for_two_scopes() {
    let metadata = metadata();
    assert_eq!(
        (metadata.title.as_str(), metadata.requires_auth),
        ("Google Calendar", true)
    );
    let Auth::OAuth2(oauth) = metadata.auth else {
        panic!("{:?}", metadata.auth)
    };
    let scope = |name| format!("https://www.googleapis.com/auth/{name}");
    assert_eq!(
        oauth.scopes,
        [scope("calendar.events"), scope("calendar.readonly")]
    );
    assert!(
        oauth.auth_url.starts_with("https://") && oauth.token_url.starts_with("https://"),
        "{oauth:?}"
    );
}

// A4
#[test]
fn form_asks_for_calendar_and_default_duration() {
    let schema = metadata().config_schema.unwrap();
    assert_eq!(schema["required"], json!(["calendar_id"]));
    assert_eq!(schema["properties"]["calendar_id"]["default"], "primary");
    assert_eq!(
        schema["properties"]["default_event_duration"]["default"],
        30
    );
    assert_eq!(
        schema["properties"]["base_url"]["default"],
        "https://www.googleapis.com/calendar/v3"
    );
}

#[tokio::test]
async fn events_need_approval_if_the_settings_say_so() {
    for asks in [false, true] {
        let config = json!({"calendar_id": "primary", "confirm_events": asks});
        let calendar = Calendar::with(
            crate::server::router(),
            config,
            json!({"access_token": "secret-token"}),
        )
        .await;
        let runtime = Runtime::builder(calendar.tools.clone()).build().unwrap();
        let session = runtime
            .session("s", Mode::Text)
            .user_data(local_egress())
            .await
            .unwrap();
        let event = json!({"title": "Lunch", "start_time": "2026-03-02T12:00:00Z"});
        let response = session
            .call(ToolCall::new("1", "create_event", event))
            .await;
        assert_eq!(
            (response.is_ok(), calendar.seen().len()),
            (!asks, usize::from(!asks)),
            "{response}"
        );
        let Some(confirmation) = response.meta().confirmation() else {
            continue;
        };
        assert!(asks && session.approve(&confirmation.token).await.is_ok());
        assert_eq!(calendar.seen().len(), 1);
    }
}
