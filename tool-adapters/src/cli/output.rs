//! The streams of a command.

use crate::cli::{Status, Stop};
use serde::Serialize;
use std::borrow::Cow;
use std::fmt::Write as _;
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
    pub(crate) fn print(&mut self, text: &str) -> Result<(), Stop> {
        Ok(self.output.write_all(text.as_bytes())?)
    }

    /// A line.
    pub(crate) fn line(&mut self, text: &str) -> Result<(), Stop> {
        self.print(text)?;
        self.print("\n")
    }

    /// A value as a line of JSON.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> Result<(), Stop> {
        let text = serde_json::to_string(value).map_err(|error| Stop::Output(error.into()))?;
        self.line(&text)
    }

    /// Tells what went wrong, a problem a line. Where that cannot be told, there is nobody to tell.
    pub(crate) fn complain(&mut self, message: &str) {
        for line in message.lines() {
            self.remark(&format!("error: {}", plain(line)));
        }
    }

    /// Tells something by the way.
    pub(crate) fn remark(&mut self, message: &str) {
        let _ = writeln!(self.errors, "{message}").and_then(|()| self.errors.flush());
    }

    /// Hands over what is still to be written.
    pub(crate) fn finish(&mut self, status: Status) -> Status {
        match self.output.flush() {
            Ok(()) => status,
            Err(error) => Stop::Output(error).tell(self).max(status),
        }
    }
}

// ---- Tables for a terminal.

/// The rows under their headings, each column as wide as it has to be.
pub(crate) fn table<const N: usize>(headings: [&str; N], rows: &[[String; N]]) -> String {
    let rows = std::iter::once(headings.map(str::to_owned)).chain(rows.iter().cloned());
    let rows = rows.map(|row| row.map(|cell| plain(&cell).into_owned())).collect::<Vec<_>>();
    let mut widths = [0; N];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    for row in &rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(widths) {
            // Writing to a string never fails.
            let _ = write!(line, "{cell:width$}  ");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

// ---- Text without control characters, which a terminal or a backend would obey.

/// The text, with its control characters escaped.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    if !text.contains(char::is_control) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        if character.is_control() {
            escaped.extend(character.escape_default());
        } else {
            escaped.push(character);
        }
    }
    Cow::Owned(escaped)
}
