//! The printed report, and the example run with cargo.

use crate::report;
use crate::shared::run;
use crate::support::{conversation, played};

async fn printed() -> String {
    let mut out = Vec::new();
    report::write(&mut out, &conversation().await).unwrap();
    String::from_utf8(out).unwrap()
}

#[tokio::test]
async fn every_response_is_printed_after_a_summary_line() {
    let text = printed().await;
    let lines = text.lines().map(str::trim).collect::<Vec<_>>();
    let answers: usize = conversation()
        .await
        .iter()
        .flat_map(|scene| &scene.turns)
        .map(|turn| turn.responses().len())
        .sum();
    let envelopes = lines
        .iter()
        .filter(|line| line.starts_with("{\"ok\":"))
        .count();
    assert_eq!(envelopes, answers);
    assert!(
        lines.contains(
            &format!(
                "answers: {answers}, ok 17, BUDGET_EXCEEDED 2, CONFIRMATION_REQUIRED 3, DENIED 1, \
        LOOP_DETECTED 2, MODE_RESTRICTED 1, NOT_FOUND 1, PERMANENT 1, SESSION_INACTIVE 1, VALIDATION 1"
            )
            .as_str()
        ),
        "{text}"
    );
}

#[tokio::test]
async fn state_at_the_end_of_a_turn_is_printed() {
    let text = printed().await;
    for line in [
        "state as the turn ends: nothing set; after it: nothing set",
        "state as the turn ends: audio suppressed, transcript suppressed, concierge.block_user = {\"seconds\":20}; after it: nothing set",
        "-- turn 8, not heard: the guest is blocked for 15 s",
        "agent, first: Good evening! What else would you like to know?",
        "agent, last: Good night, and enjoy your stay.",
        "-- turn 5, after the session was over",
    ] {
        assert!(
            text.lines().any(|printed| printed == line),
            "{line}\n{text}"
        );
    }
}

#[tokio::test]
async fn approval_without_a_pending_call_is_printed() {
    let mut out = Vec::new();
    report::write(&mut out, &played("== text\nguest: Yes\napprove").await).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(
        text.contains("  approve\n    no call waits\n")
            && text.ends_with("answers: 0, ok 0, no errors\n"),
        "{text}"
    );
}

#[test]
fn plays_the_built_in_conversation_or_a_file() {
    let own = run("concierge", &[], &[], "");
    assert!(own.status.success(), "{own:?}");
    assert!(
        String::from_utf8_lossy(&own.stdout).contains("== voice session `voice-2`"),
        "{own:?}"
    );
    let other = run(
        "concierge",
        &["-"],
        &[],
        "== text\nguest: Pool?\n> kb_search {\"query\": oops",
    );
    assert!(
        String::from_utf8_lossy(&other.stdout).ends_with("answers: 1, ok 0, VALIDATION 1\n"),
        "{other:?}"
    );
}

#[test]
fn invalid_script_exits_with_2() {
    for (arguments, input, message) in [
        (
            &["-"][..],
            "guest: Hello",
            "standard input: line 1: a session comes first",
        ),
        (&["no-such-file.txt"], "", "no-such-file.txt: "),
        (&["--verbose"], "", "usage: "),
        (&["a.txt", "b.txt"], "", "usage: "),
    ] {
        let output = run("concierge", arguments, &[], input);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(
            String::from_utf8_lossy(&output.stderr).contains(message),
            "{output:?}"
        );
    }
}
