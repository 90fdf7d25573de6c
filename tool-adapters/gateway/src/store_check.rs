//! The check of the session store for `/readyz`.

use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};
use tool_core::Runtime;

/// The last answer of the session store. Probes of several machines share it, so that they are no
/// load on the store.
#[derive(Default)]
pub(crate) struct StoreCheck(Mutex<Option<CheckedStore>>);

struct CheckedStore {
    at: Instant,
    is_up: bool,
}

/// The time for which an answer of the store counts.
const STORE_CHECK_AGE: Duration = Duration::from_secs(1);

/// The time for the store to answer. It is shorter than that of a probe.
const STORE_CHECK_LIMIT: Duration = Duration::from_millis(800);

impl StoreCheck {
    /// Returns true if the store answers.
    pub(crate) async fn is_up(&self, runtime: &Runtime) -> bool {
        let mut checked = self.0.lock().await;
        if let Some(last) = &*checked
            && last.at.elapsed() < STORE_CHECK_AGE
        {
            return last.is_up;
        }
        let answer = timeout(STORE_CHECK_LIMIT, runtime.sessions()).await;
        let is_up = matches!(answer, Ok(Ok(_)));
        let at = Instant::now();
        *checked = Some(CheckedStore { at, is_up });
        is_up
    }
}
