//! The voice agent example, run with cargo.

mod shared;

use serde_json::Value;
use shared::run;

#[test]
fn conversation_survives_a_broken_connection() {
    let output = run("voice_agent", &[], &[], "");
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = [
        "connected",
        "user: When does the pool open?",
        r#"  > opening_hours {"place":"pool"}"#,
        r#"  < "07:00 to 21:00""#,
        "agent: The pool is open from seven in the morning to nine in the evening.",
        r#"  > call_taxi {"destination":"the station"}"#,
        r#"  < "the taxi company is being called""#,
        "connected again: the conversation goes on",
        r#"  < later: "a taxi to the station comes in 5 minutes""#,
        "[the user speaks: the loudspeaker falls silent]",
        "  x fc-4",
        r#"  > hang_up {"farewell":"Good-bye, and enjoy your stay."}"#,
        "agent: Good-bye, and enjoy your stay.",
        "the conversation is over",
    ];
    let at =
        lines.map(|line| text.lines().position(|printed| printed == line).unwrap_or_else(|| panic!("{line}\n{text}")));
    assert!(at.is_sorted(), "{text}");
}

#[test]
fn script_steps_send_wait_or_pause() {
    let script: Vec<Vec<Value>> = serde_json::from_str(include_str!("../voice_agent/script.json")).unwrap();
    for step in script.iter().flatten().map(|step| step.as_object().unwrap()) {
        assert_eq!(step.len(), 1);
        assert!(["send", "await", "pause"].iter().any(|kind| step.contains_key(*kind)), "{step:?}");
    }
}
