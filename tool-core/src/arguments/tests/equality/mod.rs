//! Which arguments are equal.

pub(crate) mod equal;
pub(crate) mod mutate;
pub(crate) mod near_misses;
pub(crate) mod spelled;
