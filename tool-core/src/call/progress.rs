//! Progress updates of a running tool.

use crate::call::newest_items::{NewestItems, QueueLimits};
use crate::text;
use crate::trace::redaction::Redaction;
use crate::trace::spans::progressed;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A progress update of a running call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ProgressUpdate {
    /// The message, for people or for the model, as the transport decides.
    pub message: String,
    /// The completed part of the work, from 0 to 1, if the tool reports it.
    pub fraction: Option<f64>,
    /// The completed work as the tool counts it, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<CountedWork>,
}

/// Completed work in a unit of the tool, such as rows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CountedWork {
    /// The work that is done.
    pub done: f64,
    /// The whole of it, if it is known.
    pub total: Option<f64>,
}

/// The receiver of a call's progress updates. It keeps them until [`take`](Self::take), and shows
/// each one to its listener, if it has one.
///
/// ```
/// use tool_core::{Progress, RunContext, ToolContext, tool};
///
/// /// Import the rows.
/// #[tool]
/// async fn import(rows: u32, #[context] progress: Progress) -> u32 {
///     progress.fraction(0.5, "half of it");
///     progress.message("almost done");
///     rows
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_core::RegistryErrors> {
/// let tools = ToolContext::builder().with(import).build()?;
/// let progress = Progress::listened(|update| println!("{}", update.message));
/// let ctx = RunContext::builder().progress(progress.clone()).build();
/// tools.call("import", r#"{"rows": 7}"#, &ctx).await;
/// assert_eq!(progress.take()[0].fraction, Some(0.5));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Progress {
    pending: Arc<PendingUpdates>,
    listener: Option<Arc<ProgressListener>>,
}

/// The updates that wait to be taken. Old ones are dropped, so that a chatty tool cannot fill
/// memory.
struct PendingUpdates {
    updates: Mutex<NewestItems<ProgressUpdate>>,
    /// True once the call was answered. Nothing is reported any more.
    has_ended: AtomicBool,
}

impl Default for PendingUpdates {
    fn default() -> Self {
        let limits = QueueLimits {
            items: 1_000,
            bytes: 1 << 20,
        };
        let updates = Mutex::new(NewestItems::new(limits, |update: &ProgressUpdate| {
            update.message.len()
        }));
        Self {
            updates,
            has_ended: AtomicBool::new(false),
        }
    }
}

/// The owner of a call's progress, which is created when the tool first reports something.
pub(crate) trait Reporting: Sync {
    fn progress(&self) -> &Progress;
}

impl Reporting for Progress {
    fn progress(&self) -> &Progress {
        self
    }
}
/// A function that is called with each update, on the tool's thread.
type ProgressListener = dyn Fn(&ProgressUpdate) + Send + Sync;

impl Progress {
    /// Creates a progress that also shows each update to `listener`, on the tool's thread. A panic
    /// of the listener is logged.
    pub fn listened(listener: impl Fn(&ProgressUpdate) + Send + Sync + 'static) -> Self {
        Self {
            pending: Arc::default(),
            listener: Some(Arc::new(listener)),
        }
    }

    /// Returns a progress of its own with the same listener, for one attempt at a call.
    pub(crate) fn of_attempt(&self) -> Self {
        Self {
            pending: Arc::default(),
            listener: self.listener.clone(),
        }
    }

    /// Reports a message.
    pub fn message(&self, message: impl Into<String>) {
        self.push(ProgressUpdate {
            message: message.into(),
            fraction: None,
            counted: None,
        });
    }

    /// Reports the completed part of the work, clamped to 0 to 1, with a message.
    pub fn fraction(&self, fraction: f64, message: impl Into<String>) {
        self.push(ProgressUpdate {
            message: message.into(),
            fraction: Some(clamped(fraction)),
            counted: None,
        });
    }

    /// Reports completed work in a unit of the tool, with a message. A client of an MCP server gets
    /// the same figures.
    ///
    /// ```
    /// use tool_core::Progress;
    /// use tool_core::call::CountedWork;
    ///
    /// let progress = Progress::default();
    /// let rows = CountedWork { done: 30.0, total: Some(40.0) };
    /// progress.counted(rows, "30 of 40 rows");
    /// assert_eq!(progress.take()[0].fraction, Some(0.75));
    /// ```
    pub fn counted(&self, counted: CountedWork, message: impl Into<String>) {
        let total = counted.total.filter(|total| *total > 0.0);
        self.push(ProgressUpdate {
            message: message.into(),
            fraction: total.map(|total| clamped(counted.done / total)),
            counted: Some(counted),
        });
    }

    /// Removes and returns the pending updates: at most the latest 1,000, whose messages have at
    /// most 1 MiB together. The newest one is kept whatever its size.
    pub fn take(&self) -> Vec<ProgressUpdate> {
        self.pending.updates.lock().take()
    }

    /// Returns true if a listener shows each update at once.
    pub(crate) fn has_listener(&self) -> bool {
        self.listener.is_some()
    }

    fn push(&self, update: ProgressUpdate) {
        if self.pending.has_ended.load(Ordering::Acquire) {
            return;
        }
        self.show(&update);
        progressed(&update.message, update.fraction);
        self.pending.updates.lock().push(update);
    }

    /// Takes note that the call was answered. A task that it has left behind reports nothing.
    pub(crate) fn end(&self) {
        self.pending.has_ended.store(true, Ordering::Release);
    }

    /// Shows an update to the listener, if there is one.
    pub(crate) fn show(&self, update: &ProgressUpdate) {
        if let Some(listener) = &self.listener {
            call_listener("updates", || listener(update));
        }
    }
}

fn clamped(fraction: f64) -> f64 {
    if fraction.is_nan() {
        return 0.0;
    }
    fraction.clamp(0.0, 1.0)
}

/// Calls a listener of the host. Its panic is logged, as a listener never changes the outcome of
/// the tool.
pub(crate) fn call_listener(of: &str, listener: impl FnOnce()) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(listener)) {
        let panic = Redaction::new().text(&text::of_panic(panic));
        tracing::error!(%panic, "a listener of {of} panicked");
    }
}

impl PartialEq for Progress {
    /// Compares by identity: clones are equal.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.pending, &other.pending)
    }
}

impl Eq for Progress {}

impl fmt::Debug for Progress {
    // A tool's messages may hold user data, so they are left out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Progress").finish_non_exhaustive()
    }
}
