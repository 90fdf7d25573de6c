//! A place of a window that is written while somebody reads it.

use crate::every_order;
use crate::slot::{Sample, Slot};
use loom::sync::Arc;
use loom::thread;

const OLD: Sample = Sample { at: 1, micros: 10, chars: 100 };
const NEW: Sample = Sample { at: 2, micros: 20, chars: 200 };

// R-M1
#[test]
fn a_response_is_read_as_it_was_or_as_it_is_or_not_at_all() {
    every_order(|| {
        let slot = Arc::new(Slot::default());
        assert_eq!(slot.get(), None);
        slot.put(OLD);
        let written = Arc::clone(&slot);
        let writer = thread::spawn(move || written.put(NEW));
        assert!([None, Some(OLD), Some(NEW)].contains(&slot.get()));
        writer.join().expect("no panic");
        assert_eq!(slot.get(), Some(NEW));
    });
}
