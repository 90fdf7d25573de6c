//! Records that change while the worker serves.

use crate::support::Home;
use serde_json::json;

// R-I4
#[test]
fn change_reaches_the_next_session_only() {
    let home = Home::new();
    let mut serving = home.serve();
    let event = || json!({"title": "Review", "start_time": "2026-11-20T09:00:00Z"});
    assert_eq!(serving.call("create_event", event())["ok"], true);
    home.json(&["disable", "alice", "google_calendar", "create_event"]);
    assert_eq!(serving.call("create_event", event())["ok"], true);
    assert_eq!(
        serving.ask(&json!({"agent": "alice", "end": true}))["done"],
        true
    );
    let refused = serving.call("create_event", event());
    assert_eq!(refused["error"]["type"], "NOT_FOUND", "{refused}");
    serving.end();
}

#[test]
fn every_input_line_is_answered() {
    let home = Home::new();
    let mut serving = home.serve();
    let listed = json!({"agent": "bob", "id": "7", "name": "list_events", "arguments": {"time_min": "2026-11-20T00:00:00Z"}});
    let answer = serving.ask(&listed);
    assert_eq!(
        (&answer["id"], &answer["response"]["data"]),
        (&json!("7"), &json!({"events": []}))
    );
    for (line, words) in [
        ("{", "not understood"),
        (r#"{"agent": "alice", "nmae": "x"}"#, "unknown field `nmae`"),
        (r#"{"agent": "alice"}"#, "a line has one of"),
        (
            r#"{"agent": "alice", "name": "x", "approve": "y"}"#,
            "a line has one of",
        ),
        (r#"{"agent": "", "name": "x"}"#, "expected an id"),
    ] {
        let answer = serving.ask_text(line);
        assert!(
            answer["error"]
                .as_str()
                .is_some_and(|error| error.contains(words)),
            "{line}: {answer}"
        );
    }
    let denied = serving.ask(&json!({"agent": "alice", "name": "send_email",
        "arguments": {"to": "ada@example.org", "subject": "Hi", "body": "text"}}));
    let token = &denied["response"]["meta"]["confirmation"]["token"];
    let denied = serving.ask(&json!({"agent": "alice", "deny": token}));
    assert_eq!(denied["response"]["error"]["type"], "DENIED", "{denied}");
    assert_eq!(
        serving.ask(&json!({"agent": "alice", "next_turn": true}))["done"],
        true
    );
    serving.end();
}
