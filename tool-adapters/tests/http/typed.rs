//! Typed answers over each protocol.
