//! The parsing of scripts, and its errors.

use crate::script::{Scene, Step, Turn, parse};
use tool_core::Mode;

#[test]
fn script_has_sessions_turns_and_steps() {
    let text = "# a note\n\n== voice\nguest: Hello: there\n  > kb_search {\"query\": \"a > b\"}\n> ignore_user\napprove\ndeny\nagent: Hi.\n";
    let call = |name: &str, arguments: &str| Step::Call {
        name: name.into(),
        arguments: arguments.into(),
    };
    let steps = vec![
        call("kb_search", "{\"query\": \"a > b\"}"),
        call("ignore_user", ""),
        Step::Approve,
        Step::Deny,
        Step::Agent("Hi.".into()),
    ];
    let turns = vec![Turn {
        guest: "Hello: there".into(),
        steps,
    }];
    assert_eq!(
        parse(text).unwrap(),
        [Scene {
            mode: Mode::Voice,
            turns
        }]
    );
}

#[test]
fn script_keeps_arguments_unchanged() {
    let scenes = parse("== text\r\nguest:\r\n> kb_search {\"query\": oops\r\n").unwrap();
    assert_eq!(
        scenes[0].turns[0].steps,
        [Step::Call {
            name: "kb_search".into(),
            arguments: "{\"query\": oops".into()
        }]
    );
}

#[test]
fn invalid_line_is_reported_with_its_number() {
    for (text, problem) in [
        (
            "",
            "there is no session; begin one with `== text` or `== voice`",
        ),
        (
            "guest: Hello",
            "line 1: a session comes first, `== text` or `== voice`",
        ),
        (
            "\n== phone",
            "line 2: no mode `phone`; there are `text` and `voice`",
        ),
        (
            "== text\n> kb_search {}",
            "line 2: the guest speaks first, `guest: ..`",
        ),
        (
            "== text\nguest: Hello\n>",
            "line 3: a call needs a name, `> name {..}`",
        ),
        (
            "== text\nguest: Hello\n# yes\nApprove",
            "line 4: `Approve` is none of `guest: ..`, `> name {..}`, `approve`, `deny`, `agent: ..`, `wait 30`",
        ),
    ] {
        assert_eq!(parse(text).unwrap_err(), problem);
    }
}
