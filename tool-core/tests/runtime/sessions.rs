//! How sessions open, live and end.
