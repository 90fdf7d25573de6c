//! The command line of a set of tools: list them, see what a provider is told, call them, check them, serve them.
#![doc = include_str!("cli.md")]

pub(crate) mod arguments;
pub(crate) mod call;
pub(crate) mod declared;
pub(crate) mod inspect;
pub(crate) mod output;

#[cfg(test)]
mod tests;

use crate::cli::arguments::{Cli, Command};
use crate::cli::declared::Source;
pub use crate::cli::output::Io;
use clap::Parser;
use clap::error::ErrorKind;
use std::ffi::OsString;
use std::fmt::Display;
use std::io;
use std::io::{BufReader, BufWriter, IsTerminal, stderr, stdin, stdout};
use std::path::Path;
use std::process::ExitCode;
use tool_core::ToolContext;

/// The whole command line, over all tools that are linked in and need no configuration: the `main` of a binary.
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
    start(&Source::Linked)
}

/// The same over the tools of a context, such as toolsets that were configured.
pub fn main_with(tools: ToolContext) -> ExitCode {
    start(&Source::Given(tools))
}

/// Runs one command line over the tools of a context, with the streams that are given. The first argument is the name
/// of the program.
///
/// ```
/// use tool_adapters::cli::{Io, Status, run};
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
/// let mut io = Io { input: &mut &b""[..], output: &mut output, errors: &mut errors, terminal: false };
/// let status = run(["tools", "call", "add", "--args", r#"{"a": 1, "b": 2}"#], &tools, &mut io).await;
/// assert_eq!(status, Status::Done);
/// assert!(output.starts_with(br#"{"ok":true,"data":3,"#));
/// # Ok(())
/// # }
/// ```
pub async fn run<I>(arguments: I, tools: &ToolContext, io: &mut Io<'_>) -> Status
where
    I: IntoIterator<Item: Into<OsString> + Clone>,
{
    execute(arguments, &Source::Given(tools.clone()), io).await
}

fn start(source: &Source) -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            use std::io::Write;
            let _ = writeln!(stderr(), "error: no threads to run on: {error}");
            return Status::Refused.into();
        }
    };
    // Neither stream is held locked: a server over stdio takes them.
    let terminal = stdout().is_terminal();
    let (mut input, mut output, mut errors) = (BufReader::new(stdin()), BufWriter::new(stdout()), stderr());
    let mut io = Io { input: &mut input, output: &mut output, errors: &mut errors, terminal };
    let status = runtime.block_on(execute(std::env::args_os(), source, &mut io));
    // A tool that hangs on a thread of its own does not hold up the end.
    runtime.shutdown_background();
    status.into()
}

async fn execute<I>(arguments: I, source: &Source, io: &mut Io<'_>) -> Status
where
    I: IntoIterator<Item: Into<OsString> + Clone>,
{
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => return told(&error, io),
    };
    match command(cli, source, io).await {
        Ok(status) => io.finish(status),
        Err(stop) => stop.tell(io),
    }
}

async fn command(cli: Cli, source: &Source, io: &mut Io<'_>) -> Result<Status, Stop> {
    io.terminal &= !cli.json;
    let declared = cli.tools.as_deref();
    match cli.command {
        Command::List => inspect::list(&source.tools(declared)?, io),
        Command::Schema(wanted) => inspect::run_schema(&source.tools(declared)?, &wanted, declared.is_some(), io),
        Command::Call(wanted) => call::run_call(source, declared, &wanted, io).await,
        Command::Manifest(wanted) => inspect::manifest(&source.tools(declared)?, &wanted, io),
        Command::Check(wanted) => inspect::check(&source.tools(declared)?, &wanted, io),
        Command::Serve(wanted) => inspect::run_serve(source.tools(declared)?, &wanted, io).await,
    }
}

/// What the reader of arguments has to say: help, or what is wrong.
fn told(error: &clap::Error, io: &mut Io<'_>) -> Status {
    let text = error.render().to_string();
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        return match io.print(&text) {
            Ok(()) => io.finish(Status::Done),
            Err(stop) => stop.tell(io),
        };
    }
    io.remark(text.trim_end());
    Status::Usage
}

// ---- How a command ends.

/// How a command line ended; its number is the exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[must_use]
pub enum Status {
    /// All was done.
    Done = 0,
    /// Something was refused: a call failed, a provider does not take a tool, a manifest drifted.
    Refused = 1,
    /// The arguments, or the files that they name, are not what they have to be.
    Usage = 2,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        Self::from(status as u8)
    }
}

/// Why a command stops before its end.
pub(crate) enum Stop {
    /// Something was refused; what it was.
    Refused(String),
    /// The arguments or their files are wrong; how.
    Usage(String),
    /// Nobody reads the output any more, or it cannot be written.
    Output(io::Error),
}

impl Stop {
    /// A file that was named and cannot be read.
    pub(crate) fn file(path: &Path, problem: impl Display) -> Self {
        Self::Usage(format!("{}: {problem}", path.display()))
    }

    pub(crate) fn tell(self, io: &mut Io<'_>) -> Status {
        match self {
            Self::Refused(message) => {
                io.complain(&message);
                Status::Refused
            }
            Self::Usage(message) => {
                io.complain(&message);
                Status::Usage
            }
            // Whoever closed it, such as `head`, has what it wants.
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => Status::Done,
            Self::Output(error) => {
                io.complain(&format!("the output cannot be written: {error}"));
                Status::Refused
            }
        }
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}
