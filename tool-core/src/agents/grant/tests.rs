//! Refreshing.
