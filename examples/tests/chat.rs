//! The chat example, run with cargo.

mod shared;

use shared::run;

fn printed() -> String {
    let output = run("chat", &[], &[], "");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn conversation_is_printed_with_its_calls_in_order() {
    let text = printed();
    let lines = [
        "you: What is in my diary on Monday?",
        r#"  > list_entries {"day": "monday"}"#,
        r#"  < [{"day":"monday","time":"09:00","title":"Stand-up"},{"day":"monday","time":"15:30","title":"Dentist"}]"#,
        "  asking again:",
        "On Monday there are the stand-up at 09:00 and the dentist at 15:30.",
        "you: Add lunch with Ada at 12:30.",
        r#"  > add_entry {"day": "monday", "time": "12: .. (cut off)"#,
        r#"  > add_entry {"day": "monday", "time": "12:30", "title": "Lunch with Ada"}"#,
        "I can add lunch with Ada at 12:30. Do you agree?",
        "you agree",
        r#"  < {"day":"monday","time":"12:30","title":"Lunch with Ada"}"#,
        "Lunch with Ada is in your diary.",
    ];
    let at = lines.map(|line| {
        text.lines()
            .position(|printed| printed == line)
            .unwrap_or_else(|| panic!("{line}\n{text}"))
    });
    assert!(at.is_sorted(), "{text}");
}

#[test]
fn call_waits_for_approval() {
    let text = printed();
    let (before, _) = text.split_once("you agree").unwrap();
    assert!(
        before.contains("  < CONFIRMATION_REQUIRED: ")
            && !before.contains(r#""title":"Lunch with Ada""#),
        "{text}"
    );
}

#[test]
fn missing_key_of_a_real_model_is_reported() {
    let output = run(
        "chat",
        &[],
        &[("CHAT_MODEL", "m"), ("CHAT_PROVIDER", "nobody")],
        "Hello\n",
    );
    assert_eq!(output.status.code(), Some(1));
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("unknown provider `nobody`"),
        "{output:?}"
    );
}

#[test]
fn arguments_are_refused_with_the_usage() {
    let output = run("chat", &["now"], &[], "");
    assert_eq!(output.status.code(), Some(2));
    assert!(
        String::from_utf8_lossy(&output.stdout).starts_with("usage: "),
        "{output:?}"
    );
}
