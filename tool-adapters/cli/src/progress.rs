//! One line on the error stream that shows the progress of long work.

use crate::text::{ASIDE, TextLayout, cut};
use std::io::Write;
use std::time::{Duration, Instant};
use tool_core::text::escape_invisible;
use unicode_width::UnicodeWidthStr;

/// The time before the line appears. Shorter work shows none.
pub(crate) const FIRST: Duration = Duration::from_millis(500);
/// The time between two versions of the line.
pub(crate) const INTERVAL: Duration = Duration::from_millis(100);
/// The columns of a terminal whose width is not known.
const UNKNOWN_WIDTH: usize = 80;

/// A line that is written over itself. It is erased before anything else is written.
#[derive(Debug, Default)]
pub(crate) struct ProgressLine {
    pub(crate) enabled: bool,
    /// The columns of the line that is visible.
    columns: usize,
    began: Option<Instant>,
    /// The time of the last version.
    last: Option<Instant>,
}

impl ProgressLine {
    /// Begins other work.
    pub(crate) fn begin(&mut self) {
        (self.began, self.last) = (Some(Instant::now()), None);
    }

    /// Shows a text with the time since the beginning if it is due.
    pub(crate) fn show(
        &mut self,
        layout: TextLayout,
        errors: &mut dyn Write,
        text: impl FnOnce() -> String,
    ) {
        let Some(began) = self.began.filter(|_| self.enabled) else {
            return;
        };
        let now = Instant::now();
        let due = self.last.map_or(began + FIRST, |last| last + INTERVAL);
        if now < due {
            return;
        }
        self.last = Some(now);
        let text = format!("{}, {} s", text(), (now - began).as_secs());
        let text = escape_invisible(&text);
        // A line that fills the terminal would wrap.
        let text = cut(
            &text,
            layout.width.unwrap_or(UNKNOWN_WIDTH).saturating_sub(1),
        );
        let erased = self.take_erasure();
        let painted = layout.paint(ASIDE, text);
        let written = write!(errors, "{erased}{painted}").and_then(|()| errors.flush());
        // An error stream that is closed shows no progress.
        self.enabled = written.is_ok();
        if self.enabled {
            self.columns = text.width();
        }
    }

    /// Erases the line where it is visible.
    pub(crate) fn erase(&mut self, errors: &mut dyn Write) {
        let erased = self.take_erasure();
        if !erased.is_empty() {
            let _ = errors
                .write_all(erased.as_bytes())
                .and_then(|()| errors.flush());
        }
    }

    /// Returns what erases the visible line; empty without one. These are blanks, because escape
    /// sequences are removed from a stream without colours.
    fn take_erasure(&mut self) -> String {
        match std::mem::take(&mut self.columns) {
            0 => String::new(),
            columns => format!("\r{}\r", " ".repeat(columns)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anstream::StripStream;

    /// Shows texts on a stream without escape sequences. Returns the line on the terminal.
    fn line_after(texts: &[&str], erases: bool) -> String {
        let mut progress = ProgressLine {
            enabled: true,
            ..ProgressLine::default()
        };
        let mut errors = StripStream::new(Vec::new());
        for text in texts {
            progress.began = Instant::now().checked_sub(FIRST);
            progress.last = None;
            progress.show(TextLayout::default(), &mut errors, || (*text).to_owned());
        }
        if erases {
            progress.erase(&mut errors);
        }
        let written = String::from_utf8(errors.into_inner()).expect("UTF-8");
        let mut line = Vec::new();
        for part in written.split('\r') {
            for (column, c) in part.chars().enumerate() {
                line.resize(line.len().max(column + 1), ' ');
                line[column] = c;
            }
        }
        line.into_iter().collect::<String>().trim_end().to_owned()
    }

    #[test]
    fn a_shorter_line_replaces_all_of_a_longer_one() {
        assert_eq!(line_after(&["a long text", "short"], false), "short, 0 s");
    }

    #[test]
    fn the_line_is_erased_without_escape_sequences() {
        assert_eq!(line_after(&["a text"], true), "");
    }
}
