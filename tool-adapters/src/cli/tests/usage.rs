//! Exit statuses, help, and what is wrong with the arguments.

use crate::cli::output::Io;
use crate::cli::tests::{piped, refused, run_with, shown, tools};
use crate::cli::{Status, run};
use std::io;
use std::io::Write;

#[tokio::test]
async fn mistakes_in_the_arguments_end_with_2_and_say_so_on_standard_error() {
    for (arguments, told) in [
        (&[][..], "Usage: tools"),
        (&["lst"], "similar subcommand exists: 'list'"),
        (&["schema"], "--provider <NAME>"),
        (&["schema", "--provider", "openai"], "possible values: openai-chat, openai-responses, openai-realtime"),
        (&["call"], "<NAME>"),
        (&["call", "x", "--batch", "-"], "cannot be used with"),
        (&["call", "x", "--args", "@no/such/file"], "error: no/such/file: No such file"),
        (&["call", "--batch", "no/such/file"], "error: no/such/file: No such file"),
        (&["list", "--tools", "no/such/file"], "error: no/such/file: No such file"),
        (&["manifest", "--check", "no/such/file"], "error: no/such/file: No such file"),
        (&["serve", "--mcp", "carrier-pigeon"], "possible values: stdio, http"),
    ] {
        let ran = piped(arguments).await;
        assert_eq!((ran.status, ran.output.as_str()), (Status::Usage, ""), "{arguments:?}");
        assert!(ran.errors.contains(told), "{arguments:?}: {}", ran.errors);
    }
}

#[tokio::test]
async fn help_goes_to_standard_output_and_is_no_mistake() {
    let ran = piped(&["--help"]).await;
    assert_eq!((ran.status, ran.errors.as_str()), (Status::Done, ""));
    for word in ["list", "schema", "call", "manifest", "check", "serve", "--tools <FILE>", "--json"] {
        assert!(ran.output.contains(word), "{word}: {}", ran.output);
    }
}

#[tokio::test]
async fn json_on_a_terminal_is_what_a_pipe_gets() {
    for arguments in [&["list"][..], &["schema", "--provider", "mcp"], &["check", "--provider", "mcp"]] {
        let asked = shown(&[arguments, &["--json"]].concat()).await;
        assert_eq!(asked.output, piped(arguments).await.output);
    }
}

#[tokio::test]
async fn a_tool_that_a_provider_refuses_ends_check_with_1() {
    let ran = run_with(&refused(), &["check", "--provider", "mcp"], "", false).await;
    assert_eq!(ran.status, Status::Done, "{}", ran.output);
    let ran = run_with(&refused(), &["check"], "", true).await;
    assert_eq!((ran.status, ran.errors.as_str()), (Status::Refused, ""));
    assert!(ran.output.starts_with("error: measure: it is not declared: the parameter `größe` at "), "{}", ran.output);
    let ran = run_with(&refused(), &["schema", "--provider", "anthropic"], "", false).await;
    assert_eq!((ran.status, ran.output.as_str()), (Status::Done, "[]\n"));
    assert!(ran.errors.starts_with("warning: `measure` is not declared: "), "{}", ran.errors);
}

/// A reader that has gone away.
struct Gone;

impl Write for Gone {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_reader_that_goes_away_is_no_mistake() {
    for arguments in [&["tools", "list"][..], &["tools", "--help"], &["tools", "manifest"]] {
        let mut errors = Vec::new();
        let mut io = Io { input: &mut io::empty(), output: &mut Gone, errors: &mut errors, terminal: false };
        assert_eq!(run(arguments, &tools(), &mut io).await, Status::Done);
        assert!(errors.is_empty());
    }
}
