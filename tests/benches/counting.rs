//! An allocator that counts what one thread asks of it.

// A global allocator cannot be written without `unsafe`; this one only counts and hands on to the system's.
#![allow(unsafe_code)]
// Each benchmark uses its part of this.
#![allow(dead_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The sizes that are kept of one work.
const KEPT: usize = 64;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
    static BYTES: Cell<i64> = const { Cell::new(0) };
    static PEAK: Cell<i64> = const { Cell::new(0) };
    static KEEPS_SIZES: Cell<bool> = const { Cell::new(false) };
    static SIZES: Cell<[usize; KEPT]> = const { Cell::new([0; KEPT]) };
}

struct Counting;

fn count(size: usize) {
    // While a thread ends its counter may be gone already.
    let _ = COUNT.try_with(|count| count.set(count.get() + 1));
    if !KEEPS_SIZES.try_with(Cell::get).unwrap_or(false) {
        return;
    }
    let _ = SIZES.try_with(|sizes| {
        let mut kept = sizes.get();
        if let Some(place) = kept.iter_mut().find(|place| **place == 0) {
            *place = size;
            sizes.set(kept);
        }
    });
}

fn weigh(more: usize, less: usize) {
    let change = more.cast_signed() as i64 - less.cast_signed() as i64;
    let Ok(now) = BYTES.try_with(|bytes| {
        bytes.set(bytes.get() + change);
        bytes.get()
    }) else {
        return;
    };
    let _ = PEAK.try_with(|peak| peak.set(peak.get().max(now)));
}

// SAFETY: every call goes to `System` unchanged, and counting does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        weigh(layout.size(), 0);
        // SAFETY: the caller keeps `alloc`'s contract, which is `System`'s.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        weigh(0, layout.size());
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        weigh(size, layout.size());
        // SAFETY: as above.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The allocations of this thread so far.
pub(crate) fn allocations() -> u64 {
    COUNT.get()
}

/// The bytes that this thread has allocated and not given back.
pub(crate) fn bytes() -> i64 {
    BYTES.get()
}

/// The most bytes that a work holds at once, above those before it.
pub(crate) fn peak<T>(work: impl FnOnce() -> T) -> (T, i64) {
    let before = bytes();
    PEAK.set(before);
    let value = work();
    (value, PEAK.get() - before)
}

/// The sizes of what a work allocates, in order, the first ones.
pub(crate) fn sizes<T>(work: impl FnOnce() -> T) -> (T, Vec<usize>) {
    SIZES.set([0; KEPT]);
    KEEPS_SIZES.set(true);
    let value = work();
    KEEPS_SIZES.set(false);
    let sizes = SIZES.get();
    (
        value,
        sizes.into_iter().take_while(|size| *size != 0).collect(),
    )
}
