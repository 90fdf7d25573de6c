//! The log of one thread, field by field.

use std::fmt::{self, Write};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Dispatch, Event, Level, Metadata, Subscriber};

/// A line of the log.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line {
    pub(crate) level: String,
    pub(crate) target: String,
    pub(crate) message: String,
    /// The fields as `name=value`, in their order.
    pub(crate) fields: String,
}

impl Visit for Line {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.message = format!("{value:?}");
        } else {
            write!(self.fields, " {}={value:?}", field.name()).expect("a text takes it");
        }
    }
}

#[derive(Clone)]
struct Listener {
    level: Level,
    lines: Arc<Mutex<Vec<Line>>>,
}

impl Subscriber for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= self.level
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let metadata = event.metadata();
        let (level, target) = (metadata.level().to_string(), metadata.target().to_owned());
        let mut line = Line {
            level,
            target,
            ..Line::default()
        };
        event.record(&mut line);
        self.lines
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(line);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// A subscriber that ignores everything.
struct Deaf;

impl Subscriber for Deaf {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        false
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::OFF)
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Returns the lines that `work` logs down to a level.
pub(crate) fn logged<F: Future>(level: Level, work: F) -> Vec<Line> {
    // With one subscriber only, tracing asks the thread that reaches a callsite first. A thread without a subscriber
    // would disable the callsite for good.
    static SECOND: OnceLock<Dispatch> = OnceLock::new();
    SECOND.get_or_init(|| Dispatch::new(Deaf));
    let listener = Listener {
        level,
        lines: Arc::default(),
    };
    let lines = Arc::clone(&listener.lines);
    tracing::subscriber::with_default(listener, || {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime
            .enable_all()
            .start_paused(true)
            .build()
            .expect("a runtime")
            .block_on(work);
    });
    let lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
    lines.clone()
}
