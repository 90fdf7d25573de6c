//! Entry points of the command line.

use crate::cli::arguments::{Cli, Command};
use crate::cli::output::{CommandIo, CommandResult, CommandStatus};
use crate::cli::tools::{ToolSource, open_tools};
use crate::cli::{call, inspect};
use clap::Parser;
use clap::error::ErrorKind;
use std::ffi::OsString;
use std::io::{BufReader, BufWriter, IsTerminal, Write, stderr, stdin, stdout};
use std::process::ExitCode;
use tool_core::ToolContext;

/// Runs the command line over all linked tools that need no configuration. Meant as the `main` of a binary.
///
/// ```no_run
/// use std::process::ExitCode;
/// use tool_core::tool;
///
/// /// Add two numbers.
/// #[tool]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// fn main() -> ExitCode {
///     tool_adapters::cli::main()
/// }
/// ```
pub fn main() -> ExitCode {
    run_process(&ToolContext::discover)
}

/// Runs the command line over the tools of a context, such as configured toolsets.
pub fn main_with(tools: ToolContext) -> ExitCode {
    run_process(&move || Ok(tools.clone()))
}

/// Runs one command line over the tools of a context, with the given streams. The first argument is the name of the
/// program.
///
/// ```
/// use tool_adapters::cli::{CommandIo, CommandStatus, run};
/// use tool_core::{ToolContext, tool};
///
/// /// Add two numbers.
/// #[tool]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_core::RegistryErrors> {
/// let tools = ToolContext::builder().with(add).build()?;
/// let (mut output, mut errors) = (Vec::new(), Vec::new());
/// let mut io = CommandIo { input: &mut &b""[..], output: &mut output, errors: &mut errors, terminal: false };
/// let status = run(["tools", "call", "add", "--args", r#"{"a": 1, "b": 2}"#], &tools, &mut io).await;
/// assert_eq!(status, CommandStatus::Success);
/// assert!(output.starts_with(br#"{"ok":true,"data":3,"#));
/// # Ok(())
/// # }
/// ```
pub async fn run<I>(arguments: I, tools: &ToolContext, io: &mut CommandIo<'_>) -> CommandStatus
where
    I: IntoIterator<Item: Into<OsString> + Clone>,
{
    execute(arguments, &|| Ok(tools.clone()), io).await
}

fn run_process(source: ToolSource<'_>) -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            let _ = writeln!(stderr(), "error: failed to start the async runtime: {error}");
            return CommandStatus::Failure.into();
        }
    };
    // The streams are not locked, as a server over stdio uses them.
    let terminal = stdout().is_terminal();
    let (mut input, mut output, mut errors) = (BufReader::new(stdin()), BufWriter::new(stdout()), stderr());
    let mut io = CommandIo { input: &mut input, output: &mut output, errors: &mut errors, terminal };
    let status = runtime.block_on(execute(std::env::args_os(), source, &mut io));
    // A blocking tool that hangs does not delay the exit.
    runtime.shutdown_background();
    status.into()
}

async fn execute<I>(arguments: I, source: ToolSource<'_>, io: &mut CommandIo<'_>) -> CommandStatus
where
    I: IntoIterator<Item: Into<OsString> + Clone>,
{
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => return print_parse_error(&error, io),
    };
    match run_command(cli, source, io).await {
        Ok(status) => io.finish(status),
        Err(error) => io.fail(&error),
    }
}

async fn run_command(cli: Cli, source: ToolSource<'_>, io: &mut CommandIo<'_>) -> CommandResult {
    io.terminal &= !cli.json;
    let file = cli.tools.as_deref();
    match cli.command {
        Command::List => inspect::list(&open_tools(source, file)?, io),
        Command::Schema(options) => inspect::schema(&open_tools(source, file)?, &options, file.is_some(), io),
        Command::Call(options) => call::call(source, file, &options, io).await,
        Command::Manifest(options) => inspect::manifest(&open_tools(source, file)?, &options, io),
        Command::Lint(options) => inspect::lint(&open_tools(source, file)?, &options, io),
        Command::Serve(options) => call::serve(open_tools(source, file)?, &options, io).await,
    }
}

/// Prints help to the output, and errors in the arguments to the error stream.
fn print_parse_error(error: &clap::Error, io: &mut CommandIo<'_>) -> CommandStatus {
    let text = error.render().to_string();
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        return match io.print(&text) {
            Ok(()) => io.finish(CommandStatus::Success),
            Err(error) => io.fail(&error),
        };
    }
    io.note(text.trim_end());
    CommandStatus::Usage
}
