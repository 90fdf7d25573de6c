//! What many threads share, under every order in which they can run.
//!
//! The files under test are the runtime's own, compiled once more: [`runtime::sync`] puts loom's primitives where the
//! runtime has those of the standard library.

#![allow(clippy::unnecessary_wraps, clippy::unused_self)] // stand-ins have the shape of what they stand for
#![allow(unreachable_pub, dead_code)] // each file is here for what its model uses

mod runtime;

mod compare {
    /// What the books know of a call's arguments: whether they equal others.
    pub struct Fingerprint<'a>(pub &'a str);

    impl Fingerprint<'_> {
        pub fn decoded(&self) -> Option<&str> {
            Some(self.0)
        }

        pub fn with_text<'b>(&self, text: &'b str) -> Fingerprint<'b> {
            Fingerprint(text)
        }

        pub fn certainly_differs(&self, text: &str) -> bool {
            self.0 != text
        }

        pub fn fast(&self) -> u128 {
            self.0.bytes().fold(0, |all, byte| all << 8 | u128::from(byte))
        }
    }
}

mod tool {
    pub use tool_core::Category;
}

#[path = "../../tool-core/src/runtime/pipeline/done.rs"]
mod done;
#[path = "../../tool-core/src/runtime/session/door.rs"]
mod door;
#[path = "../../tool-core/src/name.rs"]
mod name;

#[path = "../../tool-core/src/runtime/metrics/slot.rs"]
mod slot;

mod books;
mod detached;
mod samples;
mod shutdown;

/// Every order of the threads that a model starts in which each is interrupted at most three times where it need not be:
/// all orders of small models, and those in which races of larger ones show.
fn every_order(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(model);
}
