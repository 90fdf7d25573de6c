//! Blocking work that is given up while it ends.

use crate::done::{Done, Left};
use crate::every_order;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread::{self, JoinHandle};

/// Work on a thread of its own, and the waiting for it.
fn begin(detached: &Arc<AtomicUsize>) -> (Left, JoinHandle<()>) {
    let left = Left { detached: Arc::clone(detached), done: Arc::new(Done::default()) };
    let (done, counted) = (Arc::clone(&left.done), Arc::clone(detached));
    (left, thread::spawn(move || done.finish(&counted)))
}

// R-B5: detached work is counted while it runs, and no longer
#[test]
fn work_that_is_given_up_as_it_ends_leaves_no_count_behind() {
    every_order(|| {
        let detached = Arc::new(AtomicUsize::new(0));
        let (left, work) = begin(&detached);
        drop(left);
        assert!(detached.load(Ordering::SeqCst) <= 1, "less than nothing is detached");
        work.join().expect("no panic");
        assert_eq!(detached.load(Ordering::SeqCst), 0);
    });
}

// R-B5
#[test]
fn two_that_share_the_count_do_not_disturb_each_other() {
    every_order(|| {
        let detached = Arc::new(AtomicUsize::new(0));
        let ((one, first), (other, second)) = (begin(&detached), begin(&detached));
        drop(one);
        drop(other);
        assert!(detached.load(Ordering::SeqCst) <= 2, "less than nothing is detached");
        first.join().expect("no panic");
        second.join().expect("no panic");
        assert_eq!(detached.load(Ordering::SeqCst), 0);
    });
}

// R-B5
#[test]
fn work_that_was_answered_is_never_detached() {
    every_order(|| {
        let detached = Arc::new(AtomicUsize::new(0));
        let (left, work) = begin(&detached);
        // As it is where the thread pool tells of the end before the work itself has.
        left.done.answered();
        drop(left);
        work.join().expect("no panic");
        assert_eq!(detached.load(Ordering::SeqCst), 0);
    });
}
