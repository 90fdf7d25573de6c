//! The calls of one step.
