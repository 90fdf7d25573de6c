//! The streams of a command, and its status.

use crate::progress::{FIRST, INTERVAL, ProgressLine};
use crate::text::TextLayout;
use serde::Serialize;
use std::fmt::Display;
use std::io::{self, BufRead, Write};
use std::path::Path;
use std::pin::pin;
use std::process::ExitCode;
use tokio::time::{Instant, interval_at};
use tool_core::text::{escape_invisible, escape_invisible_json};

/// The status of a command line. Its number is the exit status of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[must_use]
pub enum CommandStatus {
    /// The command succeeded.
    Success = 0,
    /// A call failed, a provider refuses a tool, or a manifest is out of date.
    Failure = 1,
    /// The arguments are invalid, or a file that they name.
    Usage = 2,
}

impl From<CommandStatus> for ExitCode {
    fn from(status: CommandStatus) -> Self {
        Self::from(status as u8)
    }
}

/// The error that stops a command.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    #[error("{0}")]
    Failure(String),
    #[error("{0}")]
    Usage(String),
    #[error("failed to write the output: {0}")]
    Output(#[from] io::Error),
}

/// The result of a command.
pub(crate) type CommandResult = Result<CommandStatus, CommandError>;

impl CommandError {
    pub(crate) fn failure(error: impl Display) -> Self {
        Self::Failure(error.to_string())
    }

    /// Creates the error for an unreadable or invalid file.
    pub(crate) fn file(path: &Path, problem: impl Display) -> Self {
        Self::Usage(format!("{}: {problem}", path.display()))
    }
}

/// The streams of a command, and the look of its text: lines of any length, without colours, unless
/// they are set.
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
/// let (mut input, mut output, mut errors) = (&b""[..], Vec::new(), Vec::new());
/// let mut io = CommandIo::new(&mut input, &mut output, &mut errors).width(40);
/// assert_eq!(run(["tools", "list"], &tools, &mut io).await, CommandStatus::Success);
/// assert!(output.starts_with(b"add\n  PARAMETERS"));
/// # Ok(())
/// # }
/// ```
pub struct CommandIo<'a> {
    pub(crate) input: &'a mut dyn BufRead,
    pub(crate) output: &'a mut dyn Write,
    pub(crate) errors: &'a mut dyn Write,
    /// True if results are JSON.
    pub(crate) json: bool,
    pub(crate) layout: TextLayout,
    pub(crate) error_layout: TextLayout,
    pub(crate) progress: ProgressLine,
    /// True once the reader has closed the output early, such as `head`. It has read enough.
    pub(crate) is_closed: bool,
}

impl<'a> CommandIo<'a> {
    /// Creates the streams of a command. It reads `-` from `input`, and writes results to `output`,
    /// and errors, notes and progress to `errors`.
    pub fn new(
        input: &'a mut dyn BufRead,
        output: &'a mut dyn Write,
        errors: &'a mut dyn Write,
    ) -> Self {
        let layout = TextLayout::default();
        Self {
            input,
            output,
            errors,
            json: false,
            layout,
            error_layout: layout,
            progress: ProgressLine::default(),
            is_closed: false,
        }
    }

    /// Sets the width of the lines in columns, at least 20. Defaults to lines of any length.
    #[must_use]
    pub fn width(mut self, columns: usize) -> Self {
        (self.layout.width, self.error_layout.width) = (Some(columns), Some(columns));
        self
    }

    /// Colours the results, the errors, or both. Defaults to neither.
    #[must_use]
    pub fn color(mut self, output: bool, errors: bool) -> Self {
        (self.layout.color, self.error_layout.color) = (output, errors);
        self
    }

    /// Shows the progress of work that takes longer than half a second, in one line of the error
    /// stream. Needs an async runtime with time. Defaults to false.
    #[must_use]
    pub fn progress(mut self, shown: bool) -> Self {
        self.progress.enabled = shown;
        self
    }
}

impl CommandIo<'_> {
    /// Prints a text as it is.
    pub(crate) fn print(&mut self, text: &str) -> Result<(), CommandError> {
        self.progress.erase(self.errors);
        if self.is_closed {
            return Ok(());
        }
        let written = self.output.write_all(text.as_bytes());
        self.unless_closed(written)
    }

    /// Sends what is printed to the reader.
    pub(crate) fn flush(&mut self) -> Result<(), CommandError> {
        if self.is_closed {
            return Ok(());
        }
        let flushed = self.output.flush();
        self.unless_closed(flushed)
    }

    /// Notes that the reader has closed the output. The command ends with the status of its work.
    fn unless_closed(&mut self, written: io::Result<()>) -> Result<(), CommandError> {
        match written {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.is_closed = true;
                Ok(())
            }
            written => Ok(written?),
        }
    }

    pub(crate) fn print_line(&mut self, text: &str) -> Result<(), CommandError> {
        self.print(text)?;
        self.print("\n")
    }

    /// Prints a value as one line of JSON.
    pub(crate) fn print_json(&mut self, value: &impl Serialize) -> Result<(), CommandError> {
        let text = serde_json::to_string(value).map_err(io::Error::from)?;
        self.print_json_line(&text)
    }

    /// Prints a line of JSON, with characters escaped that a reader does not see or that change the
    /// order of others.
    pub(crate) fn print_json_line(&mut self, json: &str) -> Result<(), CommandError> {
        self.print_line(&escape_invisible_json(json))
    }

    /// Writes a message to the error stream. Errors of that stream are ignored.
    pub(crate) fn note(&mut self, message: &str) {
        let text = self.error_layout.message(&escape_invisible(message));
        self.write_error(&text);
    }

    /// Writes a text to the error stream as it is.
    pub(crate) fn write_error(&mut self, text: &str) {
        self.progress.erase(self.errors);
        // Results come before what is said about them. An error is reported when the command ends.
        let _ = self.flush();
        let _ = self
            .errors
            .write_all(text.as_bytes())
            .and_then(|()| self.errors.flush());
    }

    /// Awaits work, and shows its progress while it takes long. The time is that since the progress
    /// began.
    pub(crate) async fn wait<T>(
        &mut self,
        work: impl Future<Output = T>,
        progress: impl Fn() -> String,
    ) -> T {
        if !self.progress.enabled {
            return work.await;
        }
        let mut work = pin!(work);
        let mut ticks = interval_at(Instant::now() + FIRST, INTERVAL);
        loop {
            tokio::select! {
                biased;
                done = &mut work => {
                    self.progress.erase(self.errors);
                    return done;
                }
                _ = ticks.tick() => self.progress.show(self.error_layout, self.errors, &progress),
            }
        }
    }

    /// Writes an error to the error stream, and returns its status.
    pub(crate) fn fail(&mut self, error: &CommandError) -> CommandStatus {
        let status = match error {
            CommandError::Usage(_) => CommandStatus::Usage,
            CommandError::Failure(_) | CommandError::Output(_) => CommandStatus::Failure,
        };
        for line in error.to_string().lines() {
            self.note(&format!("error: {line}"));
        }
        status
    }

    /// Flushes the output.
    pub(crate) fn finish(&mut self, status: CommandStatus) -> CommandStatus {
        match self.flush() {
            Ok(()) => status,
            Err(error) => self.fail(&error).max(status),
        }
    }
}
