//! How many calls of a session may run at once.

use std::sync::atomic::{AtomicU32, Ordering};
use tokio::sync::Notify;

/// So many places. Taking one that is free is a single step, as most always are.
pub(crate) struct Slots {
    free: AtomicU32,
    /// Those who wait for one.
    waiting: AtomicU32,
    /// Apart, as few calls read it.
    freed: Box<Notify>,
}

/// A place, until it is dropped.
pub(crate) struct Slot<'a>(&'a Slots);

impl Slots {
    pub(crate) fn new(places: usize) -> Self {
        let free = AtomicU32::new(u32::try_from(places).unwrap_or(u32::MAX).max(1));
        Self { free, waiting: AtomicU32::new(0), freed: Box::default() }
    }

    /// A place, if one is free.
    #[inline]
    pub(crate) fn try_take(&self) -> Option<Slot<'_>> {
        let mut free = self.free.load(Ordering::Relaxed);
        while free > 0 {
            // In one order with `waiting`: who finds no place has said before that it waits.
            match self.free.compare_exchange_weak(free, free - 1, Ordering::SeqCst, Ordering::Relaxed) {
                Ok(_) => return Some(Slot(self)),
                Err(now) => free = now,
            }
        }
        None
    }

    /// A place, as soon as one is free.
    pub(crate) async fn take(&self) -> Slot<'_> {
        let _waits = Waits::new(&self.waiting);
        loop {
            let freed = self.freed.notified();
            if let Some(slot) = self.try_take() {
                return slot;
            }
            freed.await;
        }
    }
}

impl Drop for Slot<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.free.fetch_add(1, Ordering::SeqCst);
        if self.0.waiting.load(Ordering::SeqCst) > 0 {
            self.0.freed.notify_one();
        }
    }
}

struct Waits<'a>(&'a AtomicU32);

impl<'a> Waits<'a> {
    fn new(waiting: &'a AtomicU32) -> Self {
        waiting.fetch_add(1, Ordering::SeqCst);
        Self(waiting)
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn no_more_than_there_are_places_are_taken_and_all_who_wait_get_one() {
        let slots = Arc::new(Slots::new(3));
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let tasks = (0..2_000).map(|_| {
            let (slots, now, most) = (Arc::clone(&slots), Arc::clone(&now), Arc::clone(&most));
            tokio::spawn(async move {
                let _slot = slots.take().await;
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                tokio::task::yield_now().await;
                now.fetch_sub(1, Ordering::SeqCst);
            })
        });
        for task in tasks.collect::<Vec<_>>() {
            task.await.expect("no panic");
        }
        assert_eq!(most.load(Ordering::SeqCst), 3);
        assert!([slots.try_take(), slots.try_take(), slots.try_take()].iter().all(Option::is_some));
    }

    #[tokio::test]
    async fn a_place_that_nobody_waits_for_any_more_goes_to_the_next() {
        let slots = Slots::new(1);
        let taken = slots.try_take().expect("free");
        let mut gone = Box::pin(slots.take());
        let mut next = Box::pin(slots.take());
        for waits in [&mut gone, &mut next] {
            let polled = std::future::poll_fn(|cx| std::task::Poll::Ready(waits.as_mut().poll(cx))).await;
            assert!(polled.is_pending());
        }
        drop(taken);
        // The first was told, and goes without having taken it.
        drop(gone);
        let next = tokio::time::timeout(std::time::Duration::from_secs(5), next).await;
        assert!(next.is_ok());
    }
}
