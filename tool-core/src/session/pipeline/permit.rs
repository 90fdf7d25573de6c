//! The permit of a call under limits that all sessions share. It is kept while the call runs.

use crate::call::{ErrorKind, ToolError};
use crate::session::approvals::random;
use crate::session::inner::RuntimeInner;
use crate::session::shared_limits::{CallLimit, SharedLimit};
use crate::session::store::handle::within;
use crate::session::store::{PermitLimit, PermitRefusal, PermitRequest, PermitVerdict, StoreError};
use crate::session::timer;
use crate::time::after;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::Instant;
use tracing::Instrument;

/// The time after which the places of a killed process are free again.
const LEASE: Duration = Duration::from_secs(30);

/// The time after which a running call keeps its places for another lease. Two attempts may fail.
const EXTENSION: Duration = Duration::from_secs(8);

/// The permit of a call. Dropped, it frees the places of the call.
pub(crate) struct Permit {
    runtime: Arc<RuntimeInner>,
    limits: Arc<[SharedLimit]>,
    holder: u128,
    /// The time that the store may take.
    deadline: Duration,
    /// True while the call may have places among those that run at once.
    has_places: bool,
}

impl Permit {
    /// Creates a permit that the store has not granted yet.
    pub(crate) fn new(
        runtime: &Arc<RuntimeInner>,
        limits: &[CallLimit<'_>],
        deadline: Duration,
    ) -> Self {
        let limits = limits.iter().map(|of_call| of_call.limit.clone());
        let limits = limits.collect::<Arc<[_]>>();
        Self {
            runtime: Arc::clone(runtime),
            has_places: limits.iter().any(|limit| limit.concurrent.is_some()),
            limits,
            holder: u128::from_ne_bytes(random()),
            deadline,
        }
    }

    fn request<'a>(&self, limits: &'a [SharedLimit]) -> PermitRequest<'a> {
        PermitRequest::new(limits, self.holder, LEASE)
    }

    async fn ask(&self, limits: &[SharedLimit]) -> Result<PermitVerdict, StoreError> {
        let request = self.request(limits);
        let asked = self.runtime.store.acquire_permit(&request);
        within(self.deadline, asked, StoreError::timeout).await
    }

    /// Asks the store. If it fails, the permit may have been granted all the same.
    pub(crate) async fn acquire(&mut self) -> Result<PermitVerdict, StoreError> {
        let verdict = self.ask(&self.limits).await?;
        if verdict != PermitVerdict::Granted {
            self.has_places = false;
        }
        Ok(verdict)
    }

    /// Counts another attempt of the call under its rates. Returns false if one of them refuses it,
    /// or the store is down.
    pub(crate) async fn count_attempt(&self, limits: &[CallLimit<'_>]) -> bool {
        let rates = limits.iter().filter(|of_call| of_call.limit.rate.is_some());
        let rates = rates.map(|of_call| SharedLimit {
            concurrent: None,
            ..of_call.limit.clone()
        });
        let rates = rates.collect::<Vec<_>>();
        rates.is_empty() || self.ask(&rates).await == Ok(PermitVerdict::Granted)
    }

    /// Keeps the places of the call as long as this future is polled. It does not end.
    pub(crate) async fn keep_places(&self) {
        while self.has_places
            && let Ok(pause) = timer::until(after(Instant::now(), EXTENSION))
        {
            pause.await;
            let request = self.request(&self.limits);
            let extended = self.runtime.store.extend_permit(&request);
            if let Err(error) = within(self.deadline, extended, StoreError::timeout).await {
                tracing::warn!(%error, "failed to keep the place of a running call");
            }
        }
        std::future::pending::<()>().await;
    }

    /// Frees the places of the call.
    pub(crate) async fn release(mut self) {
        if self.has_places {
            release(&self.runtime, &self.request(&self.limits), self.deadline).await;
            self.has_places = false;
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if !self.has_places {
            return;
        }
        let Ok(handle) = Handle::try_current() else {
            // The lease ends by itself.
            return;
        };
        let runtime = Arc::clone(&self.runtime);
        let limits = Arc::clone(&self.limits);
        let holder = self.holder;
        let deadline = self.deadline;
        let released = async move {
            let request = PermitRequest::new(&limits, holder, LEASE);
            release(&runtime, &request, deadline).await;
        };
        drop(handle.spawn(released.in_current_span()));
    }
}

async fn release(runtime: &RuntimeInner, request: &PermitRequest<'_>, deadline: Duration) {
    let released = runtime.store.release_permit(request);
    if let Err(error) = within(deadline, released, StoreError::timeout).await {
        tracing::warn!(%error, "failed to free the place of a call; it is free after its lease");
    }
}

/// Describes the refusal of a permit to the model.
pub(crate) fn refused(limits: &[CallLimit<'_>], refusal: PermitRefusal) -> ToolError {
    let PermitRefusal {
        limit: index,
        by,
        retry_after,
    } = refusal;
    let refusing = limits.get(index);
    let limit = refusing.map(|refusing| &refusing.limit);
    let calls = |number: u32| {
        let named = refusing.map(|refusing| refusing.party.calls(number));
        named.unwrap_or_else(|| format!("{number} calls"))
    };
    let problem = match by {
        PermitLimit::Rate => match limit.and_then(|limit| limit.rate) {
            Some(rate) => {
                let most = calls(rate.calls);
                format!(
                    "rate limit reached: at most {most} in {:?} may run",
                    rate.per
                )
            }
            None => "rate limit reached".to_owned(),
        },
        PermitLimit::Concurrent => {
            let most = calls(limit.and_then(|limit| limit.concurrent).unwrap_or_default());
            format!("too many calls at once: at most {most} may run at the same time")
        }
    };
    let message = format!(
        "{problem}. Nothing was done; try again in {}, or answer with what you have.",
        in_seconds(retry_after)
    );
    ToolError::new(ErrorKind::RateLimit, message, true).retry_after(retry_after)
}

/// Returns a time in whole seconds, rounded up.
pub(crate) fn in_seconds(time: Duration) -> String {
    format!("{} s", time.as_millis().div_ceil(1_000).max(1))
}
