//! Exit statuses, help, and invalid arguments.

use crate::cli::tests::{on_terminal, piped, refused_tool, run_with, tools};
use crate::cli::{CommandIo, CommandStatus, run};
use std::io;
use std::io::Write;

#[tokio::test]
async fn reports_invalid_arguments_and_exits_with_2() {
    for (arguments, expected) in [
        (&[][..], "Usage: tools"),
        (&["manifst"], "similar subcommand exists: 'manifest'"),
        (&["schema"], "--provider <NAME>"),
        (&["schema", "--provider", "openai"], "possible values: openai-chat, openai-responses, openai-realtime"),
        (&["call"], "<NAME>"),
        (&["call", "x", "--batch", "-"], "cannot be used with"),
        (&["call", "x", "--args", "@no/such/file"], "error: no/such/file: No such file"),
        (&["call", "--batch", "no/such/file"], "error: no/such/file: No such file"),
        (&["list", "--tools", "no/such/file"], "error: no/such/file: No such file"),
        (&["manifest", "--check", "no/such/file"], "the manifest `no/such/file`: No such file"),
        (&["serve", "--mcp", "carrier-pigeon"], "possible values: stdio, http"),
    ] {
        let ran = piped(arguments).await;
        assert_eq!((ran.status, ran.output.as_str()), (CommandStatus::Usage, ""), "{arguments:?}");
        assert!(ran.errors.contains(expected), "{arguments:?}: {}", ran.errors);
    }
}

#[tokio::test]
async fn prints_help_to_standard_output_and_succeeds() {
    let ran = piped(&["--help"]).await;
    assert_eq!((ran.status, ran.errors.as_str()), (CommandStatus::Success, ""));
    for word in ["list", "schema", "call", "manifest", "lint", "serve", "--tools <FILE>", "--json"] {
        assert!(ran.output.contains(word), "{word}: {}", ran.output);
    }
}

#[tokio::test]
async fn json_on_a_terminal_equals_piped_output() {
    for arguments in [&["list"][..], &["schema", "--provider", "mcp"], &["lint", "--provider", "mcp"]] {
        let asked = on_terminal(&[arguments, &["--json"]].concat()).await;
        assert_eq!(asked.output, piped(arguments).await.output);
    }
}

#[tokio::test]
async fn lint_exits_with_1_if_a_provider_refuses_a_tool() {
    let ran = run_with(&refused_tool(), &["lint", "--provider", "mcp"], "", false).await;
    assert_eq!(ran.status, CommandStatus::Success, "{}", ran.output);
    let ran = run_with(&refused_tool(), &["check"], "", true).await;
    assert_eq!((ran.status, ran.errors.as_str()), (CommandStatus::Failure, ""));
    assert!(ran.output.starts_with("error: measure: it is not declared: the parameter `größe` at "), "{}", ran.output);
    let ran = run_with(&refused_tool(), &["schema", "--provider", "anthropic"], "", false).await;
    assert_eq!((ran.status, ran.output.as_str()), (CommandStatus::Success, "[]\n"));
    assert!(ran.errors.starts_with("warning: `measure` is not declared: "), "{}", ran.errors);
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
    for arguments in [&["tools", "list"][..], &["tools", "--help"], &["tools", "manifest"]] {
        let mut errors = Vec::new();
        let mut io =
            CommandIo { input: &mut io::empty(), output: &mut ClosedOutput, errors: &mut errors, terminal: false };
        assert_eq!(run(arguments, &tools(), &mut io).await, CommandStatus::Success);
        assert!(errors.is_empty());
    }
}
