//! The example, run with cargo.

use crate::shared::run;
use serde_json::Value;
use std::process::Output;

/// Returns `ok`, or the type of the error, for each printed envelope.
fn kinds(output: &Output) -> Vec<String> {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let envelopes = text.lines().filter(|line| line.starts_with("{\"ok\":"));
    let kind = |envelope: Value| {
        envelope["error"]["type"]
            .as_str()
            .unwrap_or("ok")
            .to_owned()
    };
    envelopes
        .map(|line| kind(serde_json::from_str(line).unwrap()))
        .collect()
}

#[test]
fn calendar_prints_tools_and_one_envelope_per_call() {
    let output = run("calendar", &[], &[], "");
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8_lossy(&output.stdout);
    for tool in [
        "list_events: List",
        "create_event: Create",
        "check_availability: Check",
    ] {
        assert!(text.contains(tool), "{text}");
    }
    let refused = ["VALIDATION", "VALIDATION", "VALIDATION", "NOT_FOUND"];
    let failed = ["AUTH", "CONFLICT", "RATE_LIMIT", "TRANSIENT"];
    assert_eq!(kinds(&output), [&["ok"; 5][..], &refused, &failed].concat());
}

#[test]
fn calls_are_read_from_standard_input() {
    let call = r#"[{"name": "list_events", "arguments": {"time_min": "2026-11-20T00:00:00Z"}}]"#;
    assert_eq!(kinds(&run("calendar", &["-"], &[], call)), ["ok"]);
    assert_eq!(
        kinds(&run(
            "calendar",
            &["-"],
            &[("GOOGLE_CALENDAR_TOKEN", "")],
            call
        )),
        ["AUTH"]
    );
}

#[test]
fn invalid_input_exits_with_2() {
    for (arguments, input, message) in [
        (
            &["-"][..],
            r#"[{"name": "list_events""#,
            "standard input: not a list of calls",
        ),
        (
            &["-"],
            r#"[{"name": "list_events"}]"#,
            "missing field `arguments`",
        ),
        (&["no-such-file.json"], "", "no-such-file.json: "),
        (&["--verbose"], "", "usage: "),
        (&["a.json", "b.json"], "", "usage: "),
    ] {
        let output = run("calendar", arguments, &[], input);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(
            String::from_utf8_lossy(&output.stderr).contains(message),
            "{output:?}"
        );
    }
}
