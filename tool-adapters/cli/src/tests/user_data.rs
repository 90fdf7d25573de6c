//! `call --user-data`.

use crate::tests::Outcome;
use crate::{CommandIo, CommandLine, CommandStatus};
use serde::Deserialize;
use tool_core::{ToolContext, UserData, tool};

#[derive(Debug, Deserialize)]
struct User {
    name: String,
}

/// Greet the user.
#[tool]
fn command_line_greet(#[context] user: UserData<User>) -> String {
    format!("Hello {}", user.name)
}

fn command_line() -> CommandLine {
    CommandLine::new(
        ToolContext::builder()
            .with(command_line_greet)
            .build()
            .expect("sound tools"),
    )
}

fn with_user() -> CommandLine {
    command_line().user_data(serde_json::from_value::<User>)
}

async fn run(command_line: &CommandLine, options: &[&str]) -> Outcome {
    let mut input = &b""[..];
    let mut output = Vec::new();
    let mut errors = Vec::new();
    let mut io = CommandIo::new(&mut input, &mut output, &mut errors);
    let arguments = [&["tools", "call", "command_line_greet"], options].concat();
    let status = command_line.run(arguments, &mut io).await;
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    Outcome {
        status,
        output: text(output),
        errors: text(errors),
    }
}

// D7
#[tokio::test]
async fn a_tool_without_user_data_says_how_to_give_it() {
    let ran = run(&command_line(), &[]).await;
    assert_eq!(ran.status, CommandStatus::Failure);
    for part in ["needs user data of type", "User`", "CommandLine::user_data"] {
        assert!(ran.errors.contains(part), "{part}: {}", ran.errors);
    }
    let ran = run(&with_user(), &[]).await;
    assert!(
        ran.errors.contains("give it with `--user-data JSON`"),
        "{}",
        ran.errors
    );
}

// D7
#[tokio::test]
async fn user_data_is_made_from_json() {
    let ran = run(&with_user(), &["--user-data", r#"{"name": "Ada"}"#]).await;
    assert_eq!(
        (ran.status, ran.output.as_str()),
        (CommandStatus::Success, "Hello Ada\n"),
        "{}",
        ran.errors
    );
    let file = crate::tests::file(r#"{"name": "Bob"}"#);
    let ran = run(
        &with_user(),
        &["--user-data", &format!("@{}", crate::tests::path(&file))],
    )
    .await;
    assert_eq!(ran.output, "Hello Bob\n");
}

#[tokio::test]
async fn user_data_that_cannot_be_made_is_a_usage_error() {
    let other_type = command_line().user_data(|_| Ok::<_, String>(7_u8));
    for (command_line, json, problem) in [
        (&command_line(), "{}", "makes no user data from JSON"),
        (&with_user(), "{", "expected JSON or @FILE"),
        (&with_user(), "@no/such/file", "no/such/file"),
        (&with_user(), "{}", "missing field `name`"),
    ] {
        let ran = run(command_line, &["--user-data", json]).await;
        assert_eq!(ran.status, CommandStatus::Usage, "{}", ran.errors);
        assert!(ran.errors.contains(problem), "{}", ran.errors);
    }
    let ran = run(&other_type, &["--user-data", "{}"]).await;
    assert!(
        ran.errors.contains("`--user-data` makes another type"),
        "{}",
        ran.errors
    );
}
