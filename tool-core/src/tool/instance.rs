//! The lifecycle of one toolset instance. All contexts, runtimes and sessions that use the instance
//! share it.

use crate::call::error::{ErrorKind, MASKED, ToolError};
use crate::tool::invocation::RequiredSetup;
use crate::tool::toolset::{Toolset, for_each_toolset};
use crate::trace::redaction::Redaction;
use futures_util::future::join_all;
use parking_lot::Mutex;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Weak};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::timeout;

/// The lifecycle of a toolset instance.
pub(crate) struct ToolsetInstance {
    pub(crate) toolset: Arc<dyn Toolset>,
    /// Locked while the toolset is set up or closed.
    phase: tokio::sync::Mutex<Phase>,
    open: AtomicBool,
    /// The number of setups that have ended.
    attempts: AtomicUsize,
}

#[derive(Default)]
struct Phase {
    /// The users that opened the toolset automatically.
    users: Weak<OpenToolset>,
    /// The explicit setups since the last explicit close.
    explicit: usize,
    /// The error of the last setup.
    failure: Option<ToolError>,
}

/// Keeps a toolset open. Dropping the last reference closes it, unless it was set up explicitly.
pub(crate) struct OpenToolset {
    /// `None` once the caller of [`give_up`] closes it.
    instance: Option<Arc<ToolsetInstance>>,
    runtime: Handle,
}

/// The toolsets that a runtime or a session keeps open.
pub(crate) type OpenToolsets = Vec<Arc<OpenToolset>>;

/// The maximum time of an automatic setup or close.
pub(crate) const LIFECYCLE_TIMEOUT: Duration = Duration::from_secs(30);

/// The instances that are in use, by address. An instance keeps its toolset alive, so no other
/// toolset has its address.
static INSTANCES: LazyLock<Mutex<HashMap<usize, Weak<ToolsetInstance>>>> =
    LazyLock::new(Mutex::default);

fn address(toolset: &Arc<dyn Toolset>) -> usize {
    Arc::as_ptr(toolset).cast::<()>().addr()
}

impl ToolsetInstance {
    /// Returns the lifecycle of a toolset, which is created at first use. `None` if the toolset has
    /// none.
    pub(crate) fn of(toolset: &Arc<dyn Toolset>) -> Option<Arc<Self>> {
        if !toolset.has_lifecycle() {
            return None;
        }
        let mut instances = INSTANCES.lock();
        let known = instances.entry(address(toolset)).or_default();
        let instance = known.upgrade().unwrap_or_else(|| {
            Arc::new(Self {
                toolset: Arc::clone(toolset),
                phase: tokio::sync::Mutex::default(),
                open: AtomicBool::new(false),
                attempts: AtomicUsize::new(0),
            })
        });
        *known = Arc::downgrade(&instance);
        Some(instance)
    }

    /// Returns true if the toolset was set up and not closed since.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.open.load(Ordering::Acquire)
    }

    /// Sets the toolset up for a caller who closes it explicitly.
    pub(crate) async fn set_up(self: Arc<Self>) -> Result<(), ToolError> {
        let mut phase = self.phase.lock().await;
        if !self.is_open() {
            self.run_setup(&mut phase, Duration::MAX).await?;
        }
        phase.explicit += 1;
        Ok(())
    }

    /// Takes an explicit setup back. Closes the toolset unless it is in use, or another caller has
    /// set it up.
    pub(crate) async fn take_back(self: Arc<Self>) -> Result<(), ToolError> {
        {
            let mut phase = self.phase.lock().await;
            phase.explicit = phase.explicit.saturating_sub(1);
        }
        self.close_unused().await
    }

    /// Closes the toolset, however it was set up.
    pub(crate) async fn close(self: Arc<Self>) -> Result<(), ToolError> {
        let mut phase = self.phase.lock().await;
        self.open.store(false, Ordering::Release);
        phase.explicit = 0;
        self.toolset.close().await
    }

    /// Shares the toolset with those who keep it open. `None` if it is not open or is being opened.
    pub(crate) fn share(&self) -> Option<Arc<OpenToolset>> {
        let phase = self.phase.try_lock().ok()?;
        phase.users.upgrade().filter(|_| self.is_open())
    }

    /// Sets the toolset up within a time unless it is open, and keeps it open. A caller who waited
    /// for a setup that failed gets its error instead of another setup.
    pub(crate) async fn acquire(
        self: Arc<Self>,
        within: Duration,
    ) -> Result<Arc<OpenToolset>, ToolError> {
        let attempts = self.attempts.load(Ordering::Acquire);
        let mut phase = self.phase.lock().await;
        if !self.is_open() {
            if let Some(failure) = phase
                .failure
                .as_ref()
                .filter(|_| self.attempts.load(Ordering::Acquire) != attempts)
            {
                return Err(failure.clone());
            }
            self.run_setup(&mut phase, within).await?;
        } else if let Some(open) = phase.users.upgrade() {
            return Ok(open);
        }
        let open = Arc::new(OpenToolset {
            instance: Some(Arc::clone(&self)),
            runtime: Handle::current(),
        });
        phase.users = Arc::downgrade(&open);
        Ok(open)
    }

    async fn run_setup(&self, phase: &mut Phase, within: Duration) -> Result<(), ToolError> {
        let toolset = [Arc::clone(&self.toolset)];
        let setup = for_each_toolset(&toolset, |toolset| async move { toolset.setup().await });
        let result = match timeout(within, setup).await {
            Ok(results) => results.into_iter().collect(),
            Err(_) => Err(late("setup", within)),
        };
        self.open.store(result.is_ok(), Ordering::Release);
        self.attempts.fetch_add(1, Ordering::AcqRel);
        phase.failure = result.clone().err();
        result
    }

    /// Closes the toolset if it was opened automatically and is not in use.
    pub(crate) async fn close_unused(self: Arc<Self>) -> Result<(), ToolError> {
        let phase = self.phase.lock().await;
        if phase.explicit > 0
            || phase.users.strong_count() > 0
            || !self.open.swap(false, Ordering::AcqRel)
        {
            return Ok(());
        }
        let closed = timeout(LIFECYCLE_TIMEOUT, self.toolset.close()).await;
        closed.unwrap_or_else(|_| Err(late("close", LIFECYCLE_TIMEOUT)))
    }

    async fn close_and_log(self: Arc<Self>) {
        if let Err(error) = Arc::clone(&self).close_unused().await {
            let toolset = self.toolset.id().escape_debug();
            let error = Redaction::new().text(error.message());
            tracing::error!(%toolset, %error, "failed to close a toolset");
        }
    }
}

fn late(work: &str, within: Duration) -> ToolError {
    ToolError::new(
        ErrorKind::Timeout,
        format!("its {work} took longer than {within:?}"),
        true,
    )
}

impl RequiredSetup for ToolsetInstance {
    fn missing(&self) -> Option<ToolError> {
        if self.is_open() {
            return None;
        }
        // Where the lock is taken, the setup is running.
        let failure = self
            .phase
            .try_lock()
            .ok()
            .and_then(|phase| phase.failure.as_ref().map(describe_failure));
        let failure = failure
            .map(|failure| format!(", as its setup failed: {failure}"))
            .unwrap_or_default();
        Some(ToolError::permanent(format_args!(
            "toolset `{}` is not set up{failure}; call `ToolContext::setup` before the first bare call, or call the tool in \
             a session, which sets it up",
            self.toolset.id().escape_debug()
        )))
    }
}

/// Returns the text of a failed setup that models may read.
pub(crate) fn describe_failure(error: &ToolError) -> Cow<'static, str> {
    if error.kind() == ErrorKind::Internal {
        MASKED.into()
    } else {
        Redaction::new().text(error.message()).into()
    }
}

impl Drop for ToolsetInstance {
    fn drop(&mut self) {
        let mut instances = INSTANCES.lock();
        let address = address(&self.toolset);
        // The toolset may have got another instance in between.
        if instances
            .get(&address)
            .is_some_and(|known| known.strong_count() == 0)
        {
            instances.remove(&address);
        }
    }
}

impl Drop for OpenToolset {
    fn drop(&mut self) {
        if let Some(instance) = self.instance.take() {
            self.runtime.spawn(instance.close_and_log());
        }
    }
}

/// Gives up toolsets, and returns those that nothing else keeps open. The caller closes them.
pub(crate) fn give_up(toolsets: OpenToolsets) -> Vec<Arc<ToolsetInstance>> {
    toolsets
        .into_iter()
        .filter_map(Arc::into_inner)
        .filter_map(|mut open| open.instance.take())
        .collect()
}

/// Gives up toolsets, and waits until those that are not in use any more are closed.
pub(crate) async fn release(toolsets: OpenToolsets) {
    // Spawned, so that a caller who stops waiting does not abort a close.
    join_all(
        give_up(toolsets)
            .into_iter()
            .map(|instance| tokio::spawn(instance.close_and_log())),
    )
    .await;
}
