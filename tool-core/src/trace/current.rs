//! Which span a thread is in at this moment. A future carries its own, and puts it here whenever it is polled.

use super::scope::Scope;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

thread_local! {
    static CURRENT: Cell<Option<Arc<Scope>>> = const { Cell::new(None) };
}

/// Whether any span was ever opened: until then nobody looks further.
static EVER: AtomicBool = AtomicBool::new(false);

/// The scope that the thread is in.
#[inline]
pub(crate) fn current() -> Option<Arc<Scope>> {
    if !cfg!(feature = "trace") || !EVER.load(Ordering::Relaxed) {
        return None;
    }
    // A thread that ends has none.
    CURRENT
        .try_with(|cell| {
            let scope = cell.take();
            cell.set(scope.clone());
            scope
        })
        .ok()
        .flatten()
}

/// Whether the thread is in a scope.
#[inline]
pub(crate) fn is_inside() -> bool {
    current().is_some()
}

/// The thread is in a scope until this is dropped.
pub(crate) struct Entered<'a> {
    before: Option<Arc<Scope>>,
    _log: Option<tracing::span::Entered<'a>>,
}

/// Enters a scope. To be left in the order of entering.
#[inline]
pub(crate) fn enter(scope: &Arc<Scope>) -> Entered<'_> {
    if !EVER.load(Ordering::Relaxed) {
        EVER.store(true, Ordering::Relaxed);
    }
    let log = scope.log.as_deref().map(tracing::Span::enter);
    let before = CURRENT.try_with(|cell| cell.replace(Some(Arc::clone(scope)))).ok().flatten();
    Entered { before, _log: log }
}

impl Drop for Entered<'_> {
    #[inline]
    fn drop(&mut self) {
        let before = self.before.take();
        // What was there is dropped after the cell has its value again: its drop may look.
        let _left = CURRENT.try_with(|cell| cell.replace(before));
    }
}
