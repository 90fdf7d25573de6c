//! The streams of a command, and its status.

use crate::transport::sanitize::escape_control;
use serde::Serialize;
use std::fmt::Display;
use std::io::{self, BufRead, Write};
use std::path::Path;
use std::process::ExitCode;

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

/// The streams of a command.
pub struct CommandIo<'a> {
    /// The input that `-` reads.
    pub input: &'a mut dyn BufRead,
    /// The stream for results.
    pub output: &'a mut dyn Write,
    /// The stream for errors and notes.
    pub errors: &'a mut dyn Write,
    /// True if the output is a terminal, which gets tables instead of JSON.
    pub terminal: bool,
}

impl CommandIo<'_> {
    pub(crate) fn print(&mut self, text: &str) -> Result<(), CommandError> {
        Ok(self.output.write_all(text.as_bytes())?)
    }

    pub(crate) fn print_line(&mut self, text: &str) -> Result<(), CommandError> {
        self.print(text)?;
        self.print("\n")
    }

    /// Prints a value as one line of JSON.
    pub(crate) fn print_json(&mut self, value: &impl Serialize) -> Result<(), CommandError> {
        let text = serde_json::to_string(value).map_err(io::Error::from)?;
        self.print_line(&text)
    }

    /// Writes a line to the error stream. Errors of that stream are ignored.
    pub(crate) fn note(&mut self, message: &str) {
        let _ = writeln!(self.errors, "{message}").and_then(|()| self.errors.flush());
    }

    /// Writes each line of an error to the error stream.
    pub(crate) fn fail(&mut self, error: &CommandError) -> CommandStatus {
        let status = match error {
            // A reader that closes the output early, such as `head`, has read enough.
            CommandError::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => return CommandStatus::Success,
            CommandError::Usage(_) => CommandStatus::Usage,
            CommandError::Failure(_) | CommandError::Output(_) => CommandStatus::Failure,
        };
        for line in error.to_string().lines() {
            self.note(&format!("error: {}", escape_control(line)));
        }
        status
    }

    /// Flushes the output.
    pub(crate) fn finish(&mut self, status: CommandStatus) -> CommandStatus {
        match self.output.flush() {
            Ok(()) => status,
            Err(error) => self.fail(&error.into()).max(status),
        }
    }
}

/// Formats rows under their headings, with aligned columns.
pub(crate) fn table<const N: usize>(headings: [&str; N], rows: &[[String; N]]) -> String {
    let rows = std::iter::once(headings.map(str::to_owned)).chain(rows.iter().cloned());
    let rows = rows.map(|row| row.map(|cell| escape_control(&cell).into_owned())).collect::<Vec<_>>();
    let mut widths = [0; N];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let lines = rows.iter().map(|row| {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}  "));
        format!("{}\n", cells.collect::<String>().trim_end())
    });
    lines.collect()
}
