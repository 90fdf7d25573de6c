//! The reference tool of L34.

use crate::support::{call, data, tools};
use serde_json::{Value, json};
use tool_core::{RunContext, Timestamp, ToolContext, ToolError, toolset};

struct GoogleCalendar;

/// Manage Google Calendar events.
#[toolset(name = "google_calendar", discover = false)]
impl GoogleCalendar {
    /// Create a new calendar event.
    #[tool(category = "action")]
    async fn create_event(
        &self,
        _ctx: &RunContext,
        /// Event title
        title: String,
        /// Start of the event, RFC 3339
        start_time: Timestamp,
        /// Length in minutes
        #[arg(default = 30, range(5..=480))]
        duration_minutes: u32,
        /// Addresses of the attendees
        attendees: Option<Vec<String>>,
        /// Text shown in the event
        description: Option<&str>,
    ) -> Result<Value, ToolError> {
        Ok(json!([
            title,
            start_time,
            duration_minutes,
            attendees,
            description
        ]))
    }
}

fn calendar() -> ToolContext {
    tools(GoogleCalendar)
}

// L34
#[test]
fn schema_publishes_required_fields_default_and_bounds() {
    let calendar = calendar();
    let schema = calendar
        .function_tool("create_event")
        .expect("declared")
        .definition()
        .parameters();
    assert_eq!(schema["required"], json!(["title", "start_time"]));
    assert_eq!(
        schema["properties"]["duration_minutes"]["default"],
        json!(30)
    );
    assert_eq!(
        schema["properties"]["duration_minutes"]["minimum"],
        json!(5)
    );
    assert_eq!(
        schema["properties"]["duration_minutes"]["maximum"],
        json!(480)
    );
    assert_eq!(schema["properties"]["description"]["default"], json!(null));
    assert_eq!(
        schema["properties"].as_object().map(serde_json::Map::len),
        Some(5),
        "no context, no self: L25"
    );
}

// L34
#[test]
fn omitted_optionals_use_their_defaults() {
    let answer = data(
        &calendar(),
        "create_event",
        json!({"title": "t", "start_time": "2026-11-20T10:00:00Z"}),
    );
    assert_eq!(answer, json!(["t", "2026-11-20T10:00:00Z", 30, null, null]));
}

// L34
#[test]
fn null_optionals_use_defaults_and_report_the_undocumented() {
    for (name, pointer) in [
        ("duration_minutes", 2),
        ("attendees", 3),
        ("description", 4),
    ] {
        let mut arguments = json!({"title": "t", "start_time": "2026-11-20T10:00:00Z"});
        arguments[name] = Value::Null;
        let response = call(&calendar(), "create_event", arguments);
        let answer = response.data::<Value>().expect("ran");
        assert_eq!(
            answer[pointer],
            if pointer == 2 { json!(30) } else { Value::Null }
        );
        // `null` is the published default of the other two.
        let reported = (name == "duration_minutes").then_some("/duration_minutes: null to absent");
        assert_eq!(response.meta().coerced(), reported.as_slice());
    }
}

// L34
#[test]
fn a_null_for_a_required_parameter_is_refused() {
    let (kind, message) = crate::support::failure(
        &calendar(),
        "create_event",
        r#"{"title":null,"start_time":"2026-11-20T10:00:00Z"}"#,
    );
    assert_eq!(kind, tool_core::ErrorKind::Validation);
    assert!(message.contains("/title"), "{message}");
}

// D13
#[test]
fn method_can_still_be_called_from_rust() {
    let start = "2026-11-20T10:00:00Z".parse().expect("a time");
    let ctx = RunContext::detached();
    let made = GoogleCalendar.create_event(&ctx, "t".into(), start, 45, None, Some("d"));
    assert_eq!(crate::support::block_on(made).expect("made")[2], json!(45));
}
