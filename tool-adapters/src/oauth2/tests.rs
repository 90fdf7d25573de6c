//! The pure parts.
