//! Progress updates of a running tool.

use crate::trace::spans::progressed;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

/// A progress update of a running call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ProgressUpdate {
    /// The message, for people or for the model, as the transport decides.
    pub message: String,
    /// The completed part of the work, from 0 to 1, where the tool reports it.
    pub fraction: Option<f64>,
}

/// The receiver of a call's progress updates. It keeps them until [`take`](Self::take), and shows each one to its
/// listener, where it has one.
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
    pending: Arc<Mutex<VecDeque<ProgressUpdate>>>,
    listener: Option<Arc<ProgressListener>>,
}

/// A function that is called with each update, on the tool's thread.
type ProgressListener = dyn Fn(&ProgressUpdate) + Send + Sync;

/// The maximum number of pending updates. Older ones are dropped, so that a chatty tool cannot fill memory.
const MAX_PENDING: usize = 1000;

impl Progress {
    /// Creates a progress that also shows each update to `listener`, on the tool's thread.
    pub fn listened(listener: impl Fn(&ProgressUpdate) + Send + Sync + 'static) -> Self {
        Self { pending: Arc::default(), listener: Some(Arc::new(listener)) }
    }

    /// Reports a message.
    pub fn message(&self, message: impl Into<String>) {
        self.push(ProgressUpdate { message: message.into(), fraction: None });
    }

    /// Reports the completed part of the work, clamped to 0 to 1, with a message.
    pub fn fraction(&self, fraction: f64, message: impl Into<String>) {
        let fraction = if fraction.is_nan() { 0.0 } else { fraction.clamp(0.0, 1.0) };
        self.push(ProgressUpdate { message: message.into(), fraction: Some(fraction) });
    }

    /// Removes and returns the pending updates: at most the latest 1,000.
    pub fn take(&self) -> Vec<ProgressUpdate> {
        std::mem::take(&mut *self.pending.lock()).into()
    }

    /// Returns true where a listener shows each update at once.
    pub(crate) fn has_listener(&self) -> bool {
        self.listener.is_some()
    }

    fn push(&self, update: ProgressUpdate) {
        if let Some(listener) = &self.listener {
            listener(&update);
        }
        progressed(&update.message, update.fraction);
        let mut pending = self.pending.lock();
        if pending.len() == MAX_PENDING {
            pending.pop_front();
        }
        pending.push_back(update);
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
