//! One line on the error stream that shows the progress of long work.

use crate::text::{ASIDE, TextLayout, cut};
use std::io::Write;
use std::time::{Duration, Instant};
use tool_core::text::escape_invisible;

/// The time before the line appears. Shorter work shows none.
pub(crate) const FIRST: Duration = Duration::from_millis(500);
/// The time between two versions of the line.
pub(crate) const INTERVAL: Duration = Duration::from_millis(100);
/// The columns of a terminal whose width is not known.
const UNKNOWN_WIDTH: usize = 80;
/// Begins the line again, and erases it.
const ERASE: &str = "\r\u{1b}[2K";

/// A line that is written over itself. It is erased before anything else is written.
#[derive(Debug, Default)]
pub(crate) struct ProgressLine {
    pub(crate) enabled: bool,
    visible: bool,
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
        let written =
            write!(errors, "{ERASE}{}", layout.paint(ASIDE, text)).and_then(|()| errors.flush());
        // An error stream that is closed shows no progress.
        (self.visible, self.enabled) = (written.is_ok(), written.is_ok());
    }

    /// Erases the line where it is visible.
    pub(crate) fn erase(&mut self, errors: &mut dyn Write) {
        if std::mem::take(&mut self.visible) {
            let _ = errors
                .write_all(ERASE.as_bytes())
                .and_then(|()| errors.flush());
        }
    }
}
