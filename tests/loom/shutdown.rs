//! Calls that come in while a session closes.

use crate::door::Door;
use crate::every_order;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

/// A door, how many are known to be inside, and how many were told that nobody is.
#[derive(Default)]
struct House {
    door: Door,
    inside: AtomicUsize,
    told: AtomicUsize,
}

impl House {
    fn visit(&self) {
        if self.door.enter() {
            self.inside.fetch_add(1, Ordering::SeqCst);
            self.inside.fetch_sub(1, Ordering::SeqCst);
            self.tell(self.door.leave());
        }
    }

    fn close(&self) {
        self.tell(self.door.close());
    }

    fn tell(&self, idle: bool) {
        if idle {
            assert_eq!(self.inside.load(Ordering::SeqCst), 0, "somebody is inside");
            self.told.fetch_add(1, Ordering::SeqCst);
        }
    }
}

fn with_visitors(visitors: usize, meanwhile: impl Fn(&House)) {
    let house = Arc::new(House::default());
    let threads = (0..visitors)
        .map(|_| {
            let house = Arc::clone(&house);
            thread::spawn(move || house.visit())
        })
        .collect::<Vec<_>>();
    meanwhile(&house);
    for thread in threads {
        thread.join().expect("no panic");
    }
    assert!(house.door.is_closed() && house.door.is_idle());
    assert_eq!(house.told.load(Ordering::SeqCst), 1, "told that nobody is inside");
}

// R-I3: `end` waits for the last call, and hears of it
#[test]
fn exactly_one_learns_that_nobody_is_inside_any_more() {
    every_order(|| with_visitors(2, House::close));
}

// R-I3
#[test]
fn who_comes_too_late_does_not_keep_the_last_one_from_telling() {
    every_order(|| {
        with_visitors(1, |house| {
            assert!(house.door.enter());
            house.close();
            house.tell(house.door.leave());
        });
    });
}

// R-I3: no call runs on a session that has ended
#[test]
fn nobody_goes_in_after_the_door_was_seen_closed() {
    every_order(|| {
        let door = Arc::new(Door::default());
        let closer = {
            let door = Arc::clone(&door);
            thread::spawn(move || door.close())
        };
        if door.is_closed() {
            assert!(!door.enter());
        }
        closer.join().expect("no panic");
        assert!(!door.enter());
    });
}

// R-I3
#[test]
fn an_idle_door_that_is_closed_stays_idle() {
    every_order(|| {
        with_visitors(2, |house| {
            house.close();
            if house.door.is_idle() {
                assert_eq!(house.inside.load(Ordering::SeqCst), 0);
            }
        });
    });
}
