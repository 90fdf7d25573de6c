//! Which arguments are equal.

mod equality;
mod mutate;
mod near_misses;
mod spelled;
