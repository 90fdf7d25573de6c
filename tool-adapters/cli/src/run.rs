//! Entry points of the command line.

use crate::arguments::{Cli, Command};
use crate::output::{CommandIo, CommandResult, CommandStatus};
use crate::tools::{ToolFile, ToolSource, open_tools};
use crate::user_data::UserDataConstructor;
use crate::{call, declare, inspector, openapi, serve, show};
use anstream::{AutoStream, ColorChoice};
use clap::builder::PossibleValuesParser;
use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches};
use clap_complete::Shell;
use serde_json::Value;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fmt::Display;
use std::io::{BufReader, BufWriter, IsTerminal, Write, stderr, stdin, stdout};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use terminal_size::terminal_size_of;
use tool_core::{RegistryErrors, ToolContext, ToolDefinition};

/// Runs the command line over all linked tools that need no configuration. Meant as the `main` of a
/// binary.
///
/// Text on a terminal is as wide as the terminal, or as the variable `COLUMNS` says, and has
/// colours. `NO_COLOR` turns them off, and `CLICOLOR_FORCE` turns them on in a pipe too.
/// `--version` prints the version of this crate.
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
    CommandLine::linked().main()
}

/// Runs the command line over the tools of a context, such as configured toolsets.
pub fn main_with(tools: ToolContext) -> ExitCode {
    CommandLine::new(tools).main()
}

/// A command line with what its tools need beside their arguments.
///
/// ```no_run
/// use serde::Deserialize;
/// use std::process::ExitCode;
/// use tool_adapters::cli::CommandLine;
/// use tool_core::{UserData, tool};
///
/// #[derive(Deserialize)]
/// struct User {
///     name: String,
/// }
///
/// /// Greet the user.
/// #[tool]
/// fn greet(#[context] user: UserData<User>) -> String {
///     format!("Hello {}", user.name)
/// }
///
/// // tools call greet --user-data '{"name": "Ada"}'
/// fn main() -> ExitCode {
///     CommandLine::linked().user_data(|json| serde_json::from_value::<User>(json)).main()
/// }
/// ```
#[must_use = "nothing runs before `main` or `run`"]
pub struct CommandLine {
    /// `None` for the linked tools.
    tools: Option<ToolContext>,
    user_data: Vec<UserDataConstructor>,
}

impl CommandLine {
    /// Creates a command line over all linked tools that need no configuration.
    pub fn linked() -> Self {
        Self {
            tools: None,
            user_data: Vec::new(),
        }
    }

    /// Creates a command line over the tools of a context.
    pub fn new(tools: ToolContext) -> Self {
        Self {
            tools: Some(tools),
            user_data: Vec::new(),
        }
    }

    /// Registers a constructor of [`UserData<T>`](tool_core::UserData) from the JSON of
    /// `call --user-data`. You can register one for each type: all of them get the same JSON. An
    /// error of a constructor is an error of the command.
    pub fn user_data<T, E>(
        mut self,
        make: impl Fn(Value) -> Result<T, E> + Send + Sync + 'static,
    ) -> Self
    where
        T: Send + Sync + 'static,
        E: Display,
    {
        self.user_data.push(Arc::new(move |json, session| {
            let value = make(json.clone()).map_err(|error| error.to_string())?;
            Ok(session.user_data(value))
        }));
        self
    }

    /// Runs the command line of the process.
    pub fn main(self) -> ExitCode {
        run_process(&self)
    }

    /// Runs one command line with the given streams, as [`run`] does.
    pub async fn run<I>(&self, arguments: I, io: &mut CommandIo<'_>) -> CommandStatus
    where
        I: IntoIterator<Item: Into<OsString> + Clone>,
    {
        execute(arguments, self, io).await
    }

    fn open_tools(&self) -> Result<ToolContext, RegistryErrors> {
        match &self.tools {
            Some(tools) => Ok(tools.clone()),
            None => ToolContext::discover(),
        }
    }
}

impl fmt::Debug for CommandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommandLine")
            .field("tools", &self.tools)
            .field("user_data", &self.user_data.len())
            .finish_non_exhaustive()
    }
}

/// Runs one command line over the tools of a context, with the given streams. The first argument is
/// the name of the program.
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
/// let mut input = &b""[..];
/// let mut io = CommandIo::new(&mut input, &mut output, &mut errors);
/// let status = run(["tools", "call", "add", "a=1", "b=2"], &tools, &mut io).await;
/// assert_eq!((status, &*output), (CommandStatus::Success, &b"3\n"[..]));
/// # Ok(())
/// # }
/// ```
pub async fn run<I>(arguments: I, tools: &ToolContext, io: &mut CommandIo<'_>) -> CommandStatus
where
    I: IntoIterator<Item: Into<OsString> + Clone>,
{
    CommandLine::new(tools.clone()).run(arguments, io).await
}

fn run_process(command_line: &CommandLine) -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            let _ = writeln!(
                stderr(),
                "error: failed to start the async runtime: {error}"
            );
            return CommandStatus::Failure.into();
        }
    };
    // The streams are not locked, as a server over stdio uses them.
    let colors = [AutoStream::choice(&stdout()), AutoStream::choice(&stderr())];
    let [color, error_color] = colors.map(|choice| choice != ColorChoice::Never);
    let mut input = BufReader::new(stdin());
    let mut output = BufWriter::new(AutoStream::new(stdout(), colors[0]));
    let mut errors = AutoStream::new(stderr(), colors[1]);
    let mut io = CommandIo::new(&mut input, &mut output, &mut errors)
        .color(color, error_color)
        .progress(
            stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|name| name != "dumb"),
        );
    let columns = std::env::var("COLUMNS")
        .ok()
        .and_then(|columns| columns.parse::<usize>().ok())
        .filter(|&n| n > 0);
    io.layout.width =
        columns.or_else(|| terminal_size_of(stdout()).map(|(width, _)| width.0.into()));
    io.error_layout.width =
        columns.or_else(|| terminal_size_of(stderr()).map(|(width, _)| width.0.into()));
    let status = runtime.block_on(execute(std::env::args_os(), command_line, &mut io));
    // A blocking tool that hangs does not delay the exit.
    runtime.shutdown_background();
    status.into()
}

/// The columns of help outside of a terminal.
const HELP_WIDTH: usize = 100;

async fn execute<I>(
    arguments: I,
    command_line: &CommandLine,
    io: &mut CommandIo<'_>,
) -> CommandStatus
where
    I: IntoIterator<Item: Into<OsString> + Clone>,
{
    let arguments = arguments
        .into_iter()
        .map(Into::into)
        .collect::<Vec<OsString>>();
    let command = Cli::command().term_width(io.layout.width.unwrap_or(HELP_WIDTH));
    let parsed = command
        .try_get_matches_from(&arguments)
        .and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => return print_parse_error(&error, io),
    };
    let program = arguments
        .first()
        .and_then(|path| Path::new(path).file_stem())
        .and_then(OsStr::to_str);
    match run_command(cli, program.unwrap_or("tools"), command_line, io).await {
        Ok(status) => io.finish(status),
        Err(error) => io.fail(&error),
    }
}

async fn run_command(
    cli: Cli,
    program: &str,
    command_line: &CommandLine,
    io: &mut CommandIo<'_>,
) -> CommandResult {
    io.json = cli.json;
    let source: ToolSource<'_> = &|| command_line.open_tools();
    let path = cli.tools.as_deref();
    let file = path.map(|path| ToolFile {
        path,
        skips_invalid: cli.skip_invalid,
    });
    match cli.command {
        Command::List => show::list(&open_tools(source, file, io)?, path, io),
        Command::Show(options) => {
            show::show(&open_tools(source, file, io)?, &options.name, path, io).await
        }
        Command::Schema(options) => {
            declare::schema(&open_tools(source, file, io)?, &options, file.is_some(), io)
        }
        Command::Call(options) => {
            call::call(source, file, &options, &command_line.user_data, io).await
        }
        Command::Manifest(options) => {
            declare::manifest(&open_tools(source, file, io)?, &options, io)
        }
        Command::Lint(options) => declare::lint(&open_tools(source, file, io)?, &options, io),
        Command::Inspect(options) => {
            inspector::inspect_tools(open_tools(source, file, io)?, &options, io).await
        }
        Command::Serve(options) => serve::serve(open_tools(source, file, io)?, &options, io).await,
        Command::OpenApi(options) => openapi::openapi(&options, io).await,
        Command::Completions(options) => {
            print_completions(options.shell, program, &open_tools(source, file, io)?, io)
        }
    }
}

/// Prints a completion script with the names of the tools.
fn print_completions(
    shell: Shell,
    program: &str,
    tools: &ToolContext,
    io: &mut CommandIo<'_>,
) -> CommandResult {
    let names = tools
        .definitions()
        .map(ToolDefinition::name)
        .collect::<Vec<_>>();
    let mut command = Cli::command();
    if !names.is_empty() {
        for with_name in ["call", "show"] {
            let parser = PossibleValuesParser::new(names.iter().map(|name| (*name).to_owned()));
            command = command.mut_subcommand(with_name, |sub| {
                sub.mut_arg("name", |arg| arg.value_parser(parser))
            });
        }
    }
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, program, &mut script);
    io.print(&String::from_utf8_lossy(&script))?;
    if shell == Shell::Fish && !names.is_empty() {
        // clap_complete completes options only in fish.
        let condition = "__fish_seen_subcommand_from call show";
        io.print_line(&format!(
            "complete -c {program} -n \"{condition}\" -f -a \"{}\"",
            names.join(" ")
        ))?;
    }
    Ok(CommandStatus::Success)
}

/// Prints help to the output, and errors in the arguments to the error stream.
fn print_parse_error(error: &clap::Error, io: &mut CommandIo<'_>) -> CommandStatus {
    let is_help = matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
    );
    let layout = if is_help { io.layout } else { io.error_layout };
    let text = if layout.color {
        error.render().ansi().to_string()
    } else {
        error.render().to_string()
    };
    if is_help {
        return match io.print(&text) {
            Ok(()) => io.finish(CommandStatus::Success),
            Err(error) => io.fail(&error),
        };
    }
    io.write_error(&format!("{}\n", text.trim_end()));
    CommandStatus::Usage
}
