//! The primitives that loom's models put their own in the place of.

pub(crate) use std::sync::Arc;
pub(crate) use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
