//! The streams of a command.

use super::status::{Status, Stop};
use crate::plain::plain;
use serde::Serialize;
use std::io::{BufRead, Write};

/// The streams of a command, and whether a person reads the output.
pub struct Io<'a> {
    /// What `-` stands for.
    pub input: &'a mut dyn BufRead,
    /// Where results go.
    pub output: &'a mut dyn Write,
    /// Where it is told what went wrong.
    pub errors: &'a mut dyn Write,
    /// Whether the output is a terminal: tables for people instead of JSON.
    pub terminal: bool,
}

impl Io<'_> {
    /// Text as it is.
    pub(super) fn print(&mut self, text: &str) -> Result<(), Stop> {
        Ok(self.output.write_all(text.as_bytes())?)
    }

    /// A line.
    pub(super) fn line(&mut self, text: &str) -> Result<(), Stop> {
        self.print(text)?;
        self.print("\n")
    }

    /// A value as a line of JSON.
    pub(super) fn json(&mut self, value: &impl Serialize) -> Result<(), Stop> {
        let text = serde_json::to_string(value).map_err(|error| Stop::Output(error.into()))?;
        self.line(&text)
    }

    /// Tells what went wrong, a problem a line. Where that cannot be told, there is nobody to tell.
    pub(super) fn complain(&mut self, message: &str) {
        for line in message.lines() {
            self.remark(&format!("error: {}", plain(line)));
        }
    }

    /// Tells something by the way.
    pub(super) fn remark(&mut self, message: &str) {
        let _ = writeln!(self.errors, "{message}").and_then(|()| self.errors.flush());
    }

    /// Hands over what is still to be written.
    pub(super) fn finish(&mut self, status: Status) -> Status {
        match self.output.flush() {
            Ok(()) => status,
            Err(error) => Stop::Output(error).tell(self).max(status),
        }
    }
}
