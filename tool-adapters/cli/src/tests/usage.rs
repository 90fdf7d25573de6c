//! Exit statuses, help, and invalid arguments.

use crate::tests::{file, in_json, on_terminal, path, piped, refused_tool, run_with, tools};
use crate::{CommandIo, CommandStatus, run};
use std::io;
use std::io::Write;

#[tokio::test]
async fn reports_invalid_arguments_and_exits_with_2() {
    for (arguments, expected) in [
        (&[][..], "Usage: tools"),
        (&["manifst"], "similar subcommand exists: 'manifest'"),
        (&["schema"], "--provider <NAME>"),
        (
            &["schema", "--provider", "openai"],
            "possible values: openai-chat, openai-responses, openai-realtime",
        ),
        (&["call"], "<NAME>"),
        (&["call", "x", "--batch", "-"], "cannot be used with"),
        (
            &["call", "x", "--args", "@no/such/file"],
            "error: no/such/file: No such file",
        ),
        (
            &["call", "--batch", "no/such/file"],
            "error: no/such/file: No such file",
        ),
        (
            &["list", "--tools", "no/such/file"],
            "error: no/such/file: No such file",
        ),
        (
            &["manifest", "--check", "no/such/file"],
            "the manifest `no/such/file`: No such file",
        ),
        (
            &["serve", "--mcp", "carrier-pigeon"],
            "possible values: stdio, http",
        ),
    ] {
        let ran = piped(arguments).await;
        assert_eq!(
            (ran.status, ran.output.as_str()),
            (CommandStatus::Usage, ""),
            "{arguments:?}"
        );
        assert!(
            ran.errors.contains(expected),
            "{arguments:?}: {}",
            ran.errors
        );
    }
}

#[tokio::test]
async fn prints_help_to_standard_output_and_succeeds() {
    let ran = piped(&["--help"]).await;
    assert_eq!(
        (ran.status, ran.errors.as_str()),
        (CommandStatus::Success, "")
    );
    for word in [
        "list",
        "show",
        "completions",
        "--version",
        "schema",
        "call",
        "manifest",
        "lint",
        "check",
        "serve",
        "inspect",
        "--tools <FILE>",
        "--json",
    ] {
        assert!(ran.output.contains(word), "{word}: {}", ran.output);
    }
}

#[tokio::test]
async fn json_is_the_same_on_a_terminal_and_in_a_pipe() {
    for arguments in [
        &["list"][..],
        &["show", "command_line_add"],
        &["schema", "--provider", "mcp"],
        &["lint"],
    ] {
        let asked = on_terminal(&[arguments, &["--json"]].concat()).await;
        assert_eq!(asked.output, in_json(arguments).await.output);
    }
}

// T2
#[tokio::test]
async fn json_hides_no_character() {
    let hidden = "user\u{202e}fdp.exe\u{200b}\u{e0041}\u{7f}";
    let entry = serde_json::json!([{"name": "a", "title": hidden, "description": hidden, "inputSchema": {
        "type": "object", "properties": {(hidden): {"type": "string", "description": hidden}}}}]);
    let file = file(entry.to_string());
    let arguments = serde_json::json!({(hidden): hidden}).to_string();
    for command in [
        &["list"][..],
        &["show", "a"],
        &["schema", "--provider", "mcp"],
        &["schema", "--provider", "openai-chat", "--report"],
        &["manifest"],
        &["lint"],
        &["call", "a", "--args", &arguments],
    ] {
        for json in [&["--json"][..], &[]] {
            let ran = piped(&[command, &["--tools", path(&file)], json].concat()).await;
            let shown = ran.output.clone() + &ran.errors;
            assert!(
                !shown.contains(|c| "\u{202e}\u{200b}\u{e0041}\u{7f}".contains(c)),
                "{command:?}: {shown:?}"
            );
            assert!(!ran.output.is_empty(), "{command:?}");
        }
    }
    let listed = in_json(&["list", "--tools", path(&file)]).await;
    assert!(
        listed
            .output
            .contains("user\\u202efdp.exe\\u200b\\udb40\\udc41\\u007f"),
        "{}",
        listed.output
    );
    assert_eq!(listed.json()[0]["description"], hidden);
}

#[tokio::test]
async fn a_pipe_gets_text_in_long_lines() {
    for (arguments, begins) in [
        (&["list"][..], "TOOL "),
        (&["show", "command_line_add"], "command_line_add\n"),
        (&["schema", "--provider", "mcp"], "TOOL "),
        (&["manifest"], "TOOL "),
        (&["lint", "--provider", "mcp"], "mcp "),
    ] {
        let ran = piped(arguments).await;
        assert!(
            ran.output.starts_with(begins),
            "{arguments:?}: {}",
            ran.output
        );
    }
}

#[tokio::test]
async fn prints_the_version() {
    let ran = piped(&["--version"]).await;
    let version = concat!("tools ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(
        (ran.status, ran.output.as_str()),
        (CommandStatus::Success, version)
    );
}

#[tokio::test]
async fn completions_have_the_names_of_the_tools() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let ran = piped(&["completions", shell]).await;
        assert_eq!(
            (ran.status, ran.errors.as_str()),
            (CommandStatus::Success, "")
        );
        assert!(ran.output.contains("manifest"), "{shell}: {}", ran.output);
        let names =
            ["command_line_add", "command_line_delete"].map(|name| ran.output.contains(name));
        // clap_complete's scripts for these two shells complete no values of arguments by their place.
        let expected = !["elvish", "powershell"].contains(&shell);
        assert_eq!(names, [expected; 2], "{shell}");
    }
}

#[tokio::test]
async fn lint_exits_with_1_if_a_provider_refuses_a_tool() {
    let ran = run_with(&refused_tool(), &["lint", "--provider", "mcp"], "").await;
    assert_eq!(ran.status, CommandStatus::Success, "{}", ran.output);
    let ran = run_with(&refused_tool(), &["check"], "").await;
    assert_eq!(
        (ran.status, ran.errors.as_str()),
        (CommandStatus::Failure, "")
    );
    assert!(
        ran.output
            .starts_with("error: measure: it is not declared: the parameter `größe` at "),
        "{}",
        ran.output
    );
    let ran = run_with(
        &refused_tool(),
        &["schema", "--provider", "anthropic", "--json"],
        "",
    )
    .await;
    assert_eq!(
        (ran.status, ran.output.as_str()),
        (CommandStatus::Success, "[]\n")
    );
    assert!(
        ran.errors
            .starts_with("warning: `measure` is not declared: "),
        "{}",
        ran.errors
    );
}

/// A closed output.
struct ClosedOutput;

impl Write for ClosedOutput {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn succeeds_if_the_reader_closes_the_output() {
    for arguments in [
        &["tools", "list"][..],
        &["tools", "--help"],
        &["tools", "manifest"],
    ] {
        let mut errors = Vec::new();
        let mut input = io::empty();
        let mut output = ClosedOutput;
        let mut io = CommandIo::new(&mut input, &mut output, &mut errors);
        assert_eq!(
            run(arguments, &tools(), &mut io).await,
            CommandStatus::Success
        );
        assert!(errors.is_empty());
    }
}

#[tokio::test]
async fn a_failure_stays_one_if_the_output_is_closed() {
    for arguments in [&["tools", "lint", "--json"][..], &["tools", "lint"]] {
        let mut errors = Vec::new();
        let mut input = io::empty();
        let mut output = ClosedOutput;
        let mut io = CommandIo::new(&mut input, &mut output, &mut errors);
        let status = run(arguments, &refused_tool(), &mut io).await;
        assert_eq!(status, CommandStatus::Failure, "{arguments:?}");
        assert!(errors.is_empty());
    }
}

#[tokio::test]
async fn a_batch_ends_when_its_output_is_closed() {
    for (name, expected) in [
        ("nobody", CommandStatus::Failure),
        ("command_line_add", CommandStatus::Success),
    ] {
        let line = format!("{{\"name\": \"{name}\", \"arguments\": {{\"a\": 1}}}}\n");
        let lines = line.repeat(3);
        let mut errors = Vec::new();
        let mut input = lines.as_bytes();
        let mut output = ClosedOutput;
        let mut io = CommandIo::new(&mut input, &mut output, &mut errors);
        let arguments = ["tools", "call", "--batch", "-"];
        let status = run(arguments, &tools(), &mut io).await;
        assert_eq!(status, expected, "{name}");
        assert_eq!(input.len(), 2 * line.len(), "{name}");
    }
}
