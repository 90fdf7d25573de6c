//! The lifecycle of one toolset instance. All contexts, runtimes and sessions that use the instance share it.

use crate::call::error::{ErrorKind, ToolError};
use crate::tool::toolset::{Toolset, for_each_toolset};
use crate::trace::redaction::Redaction;
use futures_util::future::join_all;
use parking_lot::Mutex;
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
    /// True after an explicit setup, until the explicit close.
    explicit: bool,
    /// The error of the last setup.
    failure: Option<ToolError>,
}

/// Keeps a toolset open. Dropping the last reference closes it, unless it was set up explicitly.
pub(crate) struct OpenToolset {
    instance: Arc<ToolsetInstance>,
    runtime: Handle,
}

/// The toolsets that a runtime or a session keeps open.
pub(crate) type OpenToolsets = Vec<Arc<OpenToolset>>;

/// The maximum time of an automatic setup or close.
const LIFECYCLE_TIMEOUT: Duration = Duration::from_secs(30);

/// The instances that are in use, by address. An instance keeps its toolset alive, so no other toolset has its address.
static INSTANCES: LazyLock<Mutex<HashMap<usize, Weak<ToolsetInstance>>>> = LazyLock::new(Mutex::default);

fn address(toolset: &Arc<dyn Toolset>) -> usize {
    Arc::as_ptr(toolset).cast::<()>().addr()
}

impl ToolsetInstance {
    /// Returns the lifecycle of a toolset, which is created at first use. `None` if the toolset has none.
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
        phase.explicit = true;
        Ok(())
    }

    /// Closes the toolset, however it was set up.
    pub(crate) async fn close(self: Arc<Self>) -> Result<(), ToolError> {
        let mut phase = self.phase.lock().await;
        self.open.store(false, Ordering::Release);
        phase.explicit = false;
        self.toolset.close().await
    }

    /// Shares the toolset with those who keep it open. `None` if it is not open or is being opened.
    pub(crate) fn share(&self) -> Option<Arc<OpenToolset>> {
        let phase = self.phase.try_lock().ok()?;
        phase.users.upgrade().filter(|_| self.is_open())
    }

    /// Sets the toolset up unless it is open, and keeps it open. A caller who waited for a setup that failed gets its
    /// error instead of another setup.
    pub(crate) async fn acquire(self: Arc<Self>) -> Result<Arc<OpenToolset>, ToolError> {
        let attempts = self.attempts.load(Ordering::Acquire);
        let mut phase = self.phase.lock().await;
        if !self.is_open() {
            if let Some(failure) = phase.failure.as_ref().filter(|_| self.attempts.load(Ordering::Acquire) != attempts)
            {
                return Err(failure.clone());
            }
            self.run_setup(&mut phase, LIFECYCLE_TIMEOUT).await?;
        } else if let Some(open) = phase.users.upgrade() {
            return Ok(open);
        }
        let open = Arc::new(OpenToolset { instance: Arc::clone(&self), runtime: Handle::current() });
        phase.users = Arc::downgrade(&open);
        Ok(open)
    }

    async fn run_setup(&self, phase: &mut Phase, within: Duration) -> Result<(), ToolError> {
        let toolset = [Arc::clone(&self.toolset)];
        let setup = for_each_toolset(&toolset, |toolset| async move { toolset.setup().await });
        let late = || ToolError::new(ErrorKind::Timeout, format!("its setup took longer than {within:?}"), true);
        let result = match timeout(within, setup).await {
            Ok(results) => results.into_iter().collect(),
            Err(_) => Err(late()),
        };
        self.open.store(result.is_ok(), Ordering::Release);
        self.attempts.fetch_add(1, Ordering::AcqRel);
        phase.failure = result.clone().err();
        result
    }

    /// Closes the toolset if it was opened automatically and is not in use.
    async fn close_unused(self: Arc<Self>) {
        let phase = self.phase.lock().await;
        if phase.explicit || phase.users.strong_count() > 0 || !self.open.swap(false, Ordering::AcqRel) {
            return;
        }
        let toolset = self.toolset.id().escape_debug();
        match timeout(LIFECYCLE_TIMEOUT, self.toolset.close()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                let error = Redaction::new().text(error.message());
                tracing::error!(%toolset, %error, "failed to close a toolset");
            }
            Err(_) => tracing::error!(%toolset, timeout = ?LIFECYCLE_TIMEOUT, "failed to close a toolset in time"),
        }
    }
}

impl Drop for ToolsetInstance {
    fn drop(&mut self) {
        let mut instances = INSTANCES.lock();
        let address = address(&self.toolset);
        // The toolset may have got another instance in between.
        if instances.get(&address).is_some_and(|known| known.strong_count() == 0) {
            instances.remove(&address);
        }
    }
}

impl Drop for OpenToolset {
    fn drop(&mut self) {
        self.runtime.spawn(Arc::clone(&self.instance).close_unused());
    }
}

/// Gives up toolsets, and waits until those that are not in use any more are closed.
pub(crate) async fn release(toolsets: OpenToolsets) {
    let instances = toolsets.iter().map(|open| Arc::clone(&open.instance)).collect::<Vec<_>>();
    drop(toolsets);
    // Spawned, so that a caller who stops waiting does not abort a close.
    join_all(instances.into_iter().map(|instance| tokio::spawn(instance.close_unused()))).await;
}
