//! Word from a tool that still works.

use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex, PoisonError};

/// One piece of news from a running call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ProgressUpdate {
    /// For people or for the model, as the transport decides.
    pub message: String,
    /// How much is done, from 0 to 1, where the tool knows.
    pub fraction: Option<f64>,
}

/// Where updates go: kept until somebody takes them, and shown at once where the host listens.
#[derive(Clone, Default)]
pub struct Progress {
    kept: Arc<Mutex<Vec<ProgressUpdate>>>,
    listener: Option<Arc<Listener>>,
}

type Listener = dyn Fn(&ProgressUpdate) + Send + Sync;

/// Updates that nobody takes are dropped from the front past this number, so that a chatty tool cannot fill memory.
const KEPT: usize = 1000;

impl Progress {
    /// A progress whose updates are also shown to `listener`, on the tool's thread.
    pub fn listened(listener: impl Fn(&ProgressUpdate) + Send + Sync + 'static) -> Self {
        Self { kept: Arc::default(), listener: Some(Arc::new(listener)) }
    }

    /// Tells how the work goes.
    pub fn message(&self, message: impl Into<String>) {
        self.push(ProgressUpdate { message: message.into(), fraction: None });
    }

    /// Tells how much of the work is done: from 0 to 1; anything outside is brought to the nearer end.
    pub fn fraction(&self, fraction: f64, message: impl Into<String>) {
        let fraction = if fraction.is_nan() { 0.0 } else { fraction.clamp(0.0, 1.0) };
        self.push(ProgressUpdate { message: message.into(), fraction: Some(fraction) });
    }

    /// The updates so far, which are then forgotten here.
    pub fn take(&self) -> Vec<ProgressUpdate> {
        std::mem::take(&mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether somebody hears of updates at once.
    pub(crate) fn is_shown(&self) -> bool {
        self.listener.is_some()
    }

    fn push(&self, update: ProgressUpdate) {
        if let Some(listener) = &self.listener {
            listener(&update);
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() == KEPT {
            kept.remove(0);
        }
        kept.push(update);
    }
}

impl std::fmt::Debug for Progress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Progress").finish_non_exhaustive()
    }
}
