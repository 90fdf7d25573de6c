//! The log of the program, on standard error.

use std::fmt::{self, Write as _};
use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use tool_core::text::escape_invisible;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// Writes one line for each event: the time, the level, the message and the fields. Spans are not
/// written.
pub(crate) struct StderrLog {
    level: LevelFilter,
    spans: AtomicU64,
}

impl StderrLog {
    /// Creates a log of this level for the crates of the gateway. Other crates are logged from
    /// warnings on.
    pub(crate) fn new(level: LevelFilter) -> Self {
        Self {
            level,
            spans: AtomicU64::new(1),
        }
    }
}

impl Subscriber for StderrLog {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let is_ours = ["tool_adapters", "tool_core", "tool_gateway"]
            .iter()
            .any(|name| metadata.target().starts_with(name));
        let level = match metadata.target() {
            _ if is_ours => self.level,
            // The gateway logs its failures itself, in words of its own.
            target if target.starts_with("rmcp") && self.level < LevelFilter::DEBUG => {
                LevelFilter::OFF
            }
            _ => self.level.min(LevelFilter::WARN),
        };
        metadata.is_event() && *metadata.level() <= level
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.level)
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(self.spans.fetch_add(1, Ordering::Relaxed).max(1))
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line::default();
        event.record(&mut line);
        let level = match *event.metadata().level() {
            Level::ERROR => "error",
            Level::WARN => "warning",
            Level::INFO => "info",
            Level::DEBUG => "debug",
            Level::TRACE => "trace",
        };
        let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ");
        let text = format!("{now} {level}: {}{}\n", line.message, line.fields);
        // A log that cannot be written is not a reason to stop.
        _ = std::io::stderr().lock().write_all(text.as_bytes());
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[derive(Default)]
struct Line {
    message: String,
    fields: String,
}

impl Line {
    fn add(&mut self, field: &Field, value: &dyn fmt::Display) {
        if field.name() == "message" {
            // The lines of a message stay lines.
            let lines = value.to_string();
            self.message = lines
                .lines()
                .map(escape_invisible)
                .collect::<Vec<_>>()
                .join("\n  ");
        } else {
            _ = write!(
                self.fields,
                " {}={}",
                field.name(),
                escape_invisible(&value.to_string())
            );
        }
    }
}

impl Visit for Line {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, &value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(field, &format_args!("{value:?}"));
    }
}
